"""Fetch a small document over the network, safely: what an identity provider publishes of itself, or answers.

Promises: what is fetched comes over https, or from this machine, or is a file of the operator; redirections lead
only to https, and none is followed by what is sent; it never passes its limit of size or time.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from http.client import HTTPException, HTTPMessage
from io import BufferedIOBase
from pathlib import Path
from typing import IO
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from pregon.clock import monotonic_ms
from pregon.version import __version__

_FETCH_S_MAX = 5.0
"""How long a server may be silent, and about how long a whole document may take."""
_CHUNK_BYTES = 64 * 1024
_HEADERS = {"Accept": "application/json", "User-Agent": f"pregon/{__version__}"}


def is_safe_url(url: str) -> bool:
    """Whether nobody on the way can change what comes from there: https, or http on this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    return (parts.scheme == "https" and host != "") or (parts.scheme == "http" and _is_this_machine(host))


def fetch_safely(address: str, bytes_max: int) -> bytes:
    """What is at a safe URL or in a file; raises OSError, saying why not.

    https trusts the authorities of the system, or those in the file that SSL_CERT_FILE names.
    """
    try:
        if "://" not in address:
            with Path(address).open("rb") as file:
                return _read_bounded(file, bytes_max)
        if not is_safe_url(address):
            raise OSError("it must be https, or http on this machine")
        opener = _make_opener(address, _RedirectsToHttps)
        with opener.open(Request(address, headers=_HEADERS), timeout=_FETCH_S_MAX) as response:
            return _read_bounded(response, bytes_max)
    except HTTPError as error:
        error.close()
        raise OSError(f"{address} answered {error.code} {error.reason}") from error
    except (OSError, HTTPException, ValueError) as error:
        raise OSError(f"{address} cannot be fetched: {error}") from error


def post_safely(address: str, body: bytes, headers: Mapping[str, str], bytes_max: int) -> tuple[int, bytes]:
    """What a safe URL answers to what it is sent: the status, whichever it is, and the body; raises OSError."""
    try:
        if not is_safe_url(address):
            raise OSError("it must be https, or http on this machine")
        request = Request(address, body, {**_HEADERS, **headers}, method="POST")
        try:
            response = _make_opener(address, _NoRedirects).open(request, timeout=_FETCH_S_MAX)
        except HTTPError as error:
            response = error  # An answer like any other here: it says why not.
        with response:
            return response.status, _read_bounded(response, bytes_max)
    except (OSError, HTTPException, ValueError) as error:
        raise OSError(f"{address} did not answer: {error}") from error


def _make_opener(address: str, redirects: type[HTTPRedirectHandler]) -> OpenerDirector:
    # What is on this machine is not to be asked of a proxy elsewhere.
    is_near = _is_this_machine(urlsplit(address).hostname or "")
    return build_opener(redirects, ProxyHandler({} if is_near else None))


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """None: what is sent may be a secret, and is for nobody else."""


class _RedirectsToHttps(HTTPRedirectHandler):
    max_redirections = 3

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        """The request to send instead; raises HTTPError when it would not go over https."""
        if urlsplit(newurl).scheme != "https":
            raise HTTPError(req.full_url, code, "with a redirection that is not to https", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _read_bounded(source: BufferedIOBase, bytes_max: int) -> bytes:
    deadline_ms = monotonic_ms() + _FETCH_S_MAX * 1_000
    content = bytearray()
    while chunk := source.read1(_CHUNK_BYTES):
        content += chunk
        if len(content) > bytes_max:
            raise OSError(f"it has more than {bytes_max} bytes")
        if monotonic_ms() > deadline_ms:
            raise OSError(f"it did not come in {_FETCH_S_MAX:.0f} seconds")
    return bytes(content)


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
