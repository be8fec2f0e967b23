"""Which hub a client talks to, by which way, and what it shows there: its key and its certificates.

Everything is checked when the client is made, before anything is sent; connecting is left to the links.

Promises:
- The key is in no repr and in no error.
- Certificates are only taken for an address where they are used.
"""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field

from pregon.addresses import DEFAULT_HUB, HUB_VARIABLE, KEY_VARIABLE
from pregon.errors import SettingsInvalid

Certificate = str | tuple[str, str]
"""A file with a certificate and its key, or a file for each."""


@dataclass(frozen=True, slots=True)
class Destination:
    """A hub, and how to present oneself there."""

    hub: str
    key: str = field(default="", repr=False)
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    """Which certificates to trust and to show; None where nothing is encrypted."""

    @property
    def is_http(self) -> bool:
        """Whether the hub is reached over HTTP; over ZeroMQ if not."""
        return _scheme(self.hub) in ("http", "https")


def find_destination(
    hub: str | None, key: str | None = None, ca: str | None = None, certificate: Certificate | None = None
) -> Destination:
    """What was said, else what the environment says, else the hub of this machine; raises SettingsInvalid."""
    address = hub or os.environ.get(HUB_VARIABLE, DEFAULT_HUB)
    presented = os.environ.get(KEY_VARIABLE, "") if key is None else key
    # It travels in a header of HTTP, where a line's end would begin another header.
    if not (presented.isascii() and presented.isprintable()) or " " in presented:
        raise SettingsInvalid("the key has characters that no key has: copy it again, without spaces or ends of line")
    is_secure = _scheme(address) == "https"
    if not is_secure and (ca or certificate):
        raise SettingsInvalid("ca and certificate are for the address of a hub that begins with https://")
    return Destination(address, presented, _make_tls(ca, certificate) if is_secure else None)


def _scheme(address: str) -> str:
    return address.partition("://")[0].lower()


def _make_tls(ca: str | None, certificate: Certificate | None) -> ssl.SSLContext:
    """Trusts the CA of the file, or those of the system, and shows the certificate."""
    try:
        context = ssl.create_default_context(cafile=ca or None)
    except (OSError, ValueError) as error:
        raise SettingsInvalid(f"ca: {ca} cannot be used ({error}): name a PEM file of certificates") from error
    if certificate:
        files = (certificate,) if isinstance(certificate, str) else tuple(certificate)
        try:
            context.load_cert_chain(*files)
        except (OSError, ValueError, TypeError) as error:
            raise SettingsInvalid(
                f"certificate: {' and '.join(map(str, files))} cannot be used ({error}): name a PEM file with the "
                "certificate and its key, or a pair of files"
            ) from error
    return context
