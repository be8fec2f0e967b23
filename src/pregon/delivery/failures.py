"""Why a push got no answer, in words that a trace can have.

Promises:
- Nothing that the subscriber sent and nothing secret is in them: the words are ours and the system's.
- What is not known here is None: a bug of ours must not look like a fault of the network.
"""

from __future__ import annotations

import os
import ssl

import aiohttp

from pregon.delivery.connections import Trip
from pregon.delivery.outcome import shorten_reason


def is_stale_connection(error: BaseException, trip: Trip) -> bool:
    """Whether a push failed on a connection that had been kept, and that the other side gave up meanwhile."""
    if trip.has_connected or trip.refusal or isinstance(error, aiohttp.ClientConnectorError):
        return False
    return isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError | ConnectionError)


def explain_failure(error: BaseException, trip: Trip) -> str | None:
    """What to say of an attempt that ended in an exception; None for one that nobody foresaw."""
    if isinstance(error, aiohttp.ClientConnectorError):
        return _explain_connecting(error, trip)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "closed without an answer"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "closed in the middle of its answer"
    if isinstance(error, aiohttp.ClientResponseError):
        is_long = error.message.startswith(("Got more than", "Too many headers"))
        return "the head of the answer is too large" if is_long else "the answer is not HTTP"
    if isinstance(error, aiohttp.InvalidURL):
        return "the endpoint is no URL that a push can go to"
    if isinstance(error, OSError):
        return f"connection lost: {_words(error)}"
    if isinstance(error, aiohttp.ClientConnectionError):
        return "connection lost"
    return None


def _explain_connecting(error: aiohttp.ClientConnectorError, trip: Trip) -> str:
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return shorten_reason(f"{trip.host} could not be looked up: {error.os_error.strerror or 'no answer'}")
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        why = error.certificate_error
        told = why.verify_message if isinstance(why, ssl.SSLCertVerificationError) else "it is not valid"
        return shorten_reason(f"TLS: the certificate is not trusted: {told}")
    if isinstance(error.os_error, ssl.SSLError):
        return shorten_reason(f"TLS: {(error.os_error.reason or 'no handshake').replace('_', ' ').lower()}")
    if trip.refusal and not trip.has_connected:
        return trip.refusal
    return _words(error.os_error)


def _words(error: OSError) -> str:
    """What the system calls an error, without addresses."""
    return os.strerror(error.errno).lower() if error.errno else "the connection failed"
