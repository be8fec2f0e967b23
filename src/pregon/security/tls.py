"""TLS: how the hub shows itself to those who connect.

Whether the hub listens with TLS at all, and who a client's certificate is, is left to others.

Promises:
- Nothing older than TLS 1.2 is spoken; with a `client_ca`, nobody gets in without a certificate signed by it.
- What is wrong with a certificate or key is said when the hub starts, with the name of the file.
"""

from __future__ import annotations

import logging
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from pregon.clock import format_us, wall_us
from pregon.errors import SettingsInvalid

log = logging.getLogger("pregon.security")

_PEM_BYTES_MAX = 1024 * 1024
"""More than any bundle of certificates; a file that never ends must not fill the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsOptions:
    """The files with which the hub shows who it is, all PEM."""

    certificate: str
    """The hub's certificate, and after it those that lead to one that clients trust."""
    key: str
    """Its private key, not encrypted."""
    client_ca: str = ""
    """Mutual TLS: clients must show a certificate signed by one of these. Empty: nobody is asked for one."""


def check_tls(options: TlsOptions) -> None:
    """Raise SettingsInvalid, saying which file is wrong and why; a certificate out of its time is only logged."""
    own = _read_certificates(options.certificate)[0]
    content = _read_pem(options.key)
    try:
        key = load_pem_private_key(content, password=None)
    except TypeError as error:
        raise SettingsInvalid(f"{options.key} is encrypted: write the key without a passphrase") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise SettingsInvalid(f"{options.key} is not a private key in PEM") from error
    if key.public_key() != own.public_key():
        raise SettingsInvalid(f"{options.key} is not the key of the first certificate in {options.certificate}")
    _warn_if_out_of_time(options.certificate, own)
    if options.client_ca:
        for authority in _read_certificates(options.client_ca):
            _warn_if_out_of_time(options.client_ca, authority)
    make_ssl_context(options)


def make_ssl_context(options: TlsOptions) -> ssl.SSLContext:
    """The server's side of TLS; raises SettingsInvalid, but `check_tls` says better what is wrong."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    try:
        # Without an answer to its question for a passphrase, OpenSSL would ask the terminal and wait.
        context.load_cert_chain(options.certificate, options.key, password="")
        if options.client_ca:
            context.load_verify_locations(options.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except OSError as error:
        files = ", ".join(filter(None, (options.certificate, options.key, options.client_ca)))
        raise SettingsInvalid(f"TLS cannot use {files}: {error.strerror or error}") from error
    return context


def _read_certificates(file: str) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(_read_pem(file))
    except ValueError as error:
        raise SettingsInvalid(f"{file} is not a certificate in PEM") from error


def _read_pem(file: str) -> bytes:
    try:
        with Path(file).open("rb") as opened:
            content = opened.read(_PEM_BYTES_MAX + 1)
    except OSError as error:
        raise SettingsInvalid(f"{file} cannot be read: {error.strerror}") from error
    if len(content) > _PEM_BYTES_MAX:
        raise SettingsInvalid(f"{file} has more than {_PEM_BYTES_MAX} bytes: it is not a certificate or key")
    return content


def _warn_if_out_of_time(file: str, certificate: x509.Certificate) -> None:
    first_us = round(certificate.not_valid_before_utc.timestamp() * 1_000_000)
    last_us = round(certificate.not_valid_after_utc.timestamp() * 1_000_000)
    if not first_us <= wall_us() <= last_us:
        extra = {"file": file, "valid_from": format_us(first_us), "valid_to": format_us(last_us)}
        log.warning("a certificate is out of its time: clients will refuse it", extra=extra)
