"""The doctor's look at who may do what: administrators, keys that are about to expire, the certificate.

It reads the settings and the database, and asks no hub, so it needs no key.

Promises:
- Keys are named by their owner and id; no secret, nor its hash, is shown.
- A key that expires soon is wrong only if its owner has no other that lasts: a rotation is no illness.
"""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pregon.cli.finding import Finding
from pregon.cli.output import tell
from pregon.clock import format_us, wall_us
from pregon.errors import SettingsInvalid
from pregon.settings import Settings, is_loopback

if TYPE_CHECKING:
    from pregon.security.keys import Key

_SOON_DAYS = 14
_DAY_US = 86_400_000_000
_NAMED_MAX = 20
"""Keys that are named one by one; the others are only counted."""


def check_security(directory: Path, settings: Settings) -> Iterator[Finding]:
    """Every check of this kind. What is wrong with the database itself is for another to say."""
    try:
        keys = _read_keys(directory)
    except sqlite3.Error:
        keys = None
    if keys is not None:
        yield check_access(keys, directory, settings)
        yield check_keys(keys)
    if settings.tls_certificate:
        yield check_certificate(settings)


def _read_keys(directory: Path) -> list[Key]:
    """The keys in the database; none if there is no database, or one from before there were keys."""
    from sqlalchemy import create_engine, inspect
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.pool import NullPool

    from pregon.store.database import DATABASE_FILE
    from pregon.store.keys import list_keys
    from pregon.store.schema import access_key

    path = directory / DATABASE_FILE
    if not path.exists():
        return []
    uri = path.resolve().as_uri() + "?mode=ro"
    engine = create_engine("sqlite://", creator=lambda: sqlite3.connect(uri, uri=True, timeout=5), poolclass=NullPool)
    try:
        with engine.connect() as connection:
            if not inspect(connection).has_table(access_key.name):
                return []
            return [kept.key for kept in list_keys(connection)]
    except DBAPIError as error:
        raise error.orig if isinstance(error.orig, sqlite3.Error) else error from error
    finally:
        engine.dispose()


def check_access(keys: list[Key], directory: Path, settings: Settings) -> Finding:
    """Whether anybody may do anything, and who administers."""
    from pregon.security.keys import ADMIN

    names = sorted({key.owner for key in keys if ADMIN in key.scopes})
    if names or settings.oidc_issuer:
        found = tell("administered by ", "administrado por ") + ", ".join(
            [*names, *filter(None, [settings.oidc_issuer])]
        )
        if not settings.require_keys:
            found += tell("; names without a key are for anybody", "; los nombres sin clave son de cualquiera")
        return Finding("access", True, found)
    doors = [settings.zmq, settings.feed, settings.ingest, settings.http]
    doors += [settings.services_front, settings.services_back] if settings.services_front else []
    is_near = all(is_loopback(address) for address in doors if address)
    found = tell("open: anybody who reaches the hub may do anything", "abierto: quien llegue al servidor puede todo")
    command = f"`pregon token create admin --scope admin --data {shlex.quote(str(directory))}`"
    advice = tell(
        f"make an administrator with {command} while the hub is stopped",
        f"cree un administrador con {command} con el servidor detenido",
    )
    return Finding("access", is_near or settings.open_to_all, found, advice)


def check_keys(keys: list[Key]) -> Finding:
    """Which keys expire soon, or have expired, and whether their owners have others."""
    from pregon.clock import INSTANT_US_MAX

    soon_us = wall_us() + _SOON_DAYS * _DAY_US
    ending = [key for key in keys if (key.expires_us or INSTANT_US_MAX) <= soon_us]
    lasting = {(key.kind, key.owner) for key in keys if key not in ending}
    if not ending:
        found = tell(
            f"{len(keys)}, none expires within {_SOON_DAYS} days",
            f"{len(keys)}, ninguna vence en los próximos {_SOON_DAYS} días",
        )
        return Finding("keys", True, found)
    named = [f"{key.kind} {key.owner} {key.id} ({format_us(key.expires_us or 0)})" for key in ending[:_NAMED_MAX]]
    if len(ending) > _NAMED_MAX:
        named.append(tell(f"and {len(ending) - _NAMED_MAX} more", f"y {len(ending) - _NAMED_MAX} más"))
    found = tell(f"these end within {_SOON_DAYS} days: ", f"estas vencen antes de {_SOON_DAYS} días: ") + ", ".join(
        named
    )
    alone = sorted({(key.kind, key.owner) for key in ending} - lasting)
    if not alone:
        return Finding("keys", True, found)
    whose = ", ".join(f"{kind} {owner}" for kind, owner in alone[:_NAMED_MAX])
    advice = tell(
        f"give new ones, with an overlap (`pregon key create`, `pregon token create`), to: {whose}",
        f"dé nuevas, con --overlap (`pregon key create`, `pregon token create`), a: {whose}",
    )
    return Finding("keys", False, found, advice)


def check_certificate(settings: Settings) -> Finding:
    """Whether the files of TLS can be used, and until when the certificate is valid."""
    from cryptography import x509

    from pregon.security.tls import TlsOptions, check_tls

    file = settings.tls_certificate
    try:
        check_tls(TlsOptions(certificate=file, key=settings.tls_key, client_ca=settings.tls_client_ca))
        own = x509.load_pem_x509_certificates(Path(file).read_bytes())[0]
    except (SettingsInvalid, OSError, ValueError) as error:
        advice = tell("the hub will not start with this", "con esto el servidor no se inicia")
        return Finding("certificate", False, str(error), advice)
    last_us = round(own.not_valid_after_utc.timestamp() * 1_000_000)
    found = tell(f"{file}: valid until {format_us(last_us)}", f"{file}: válido hasta {format_us(last_us)}")
    if last_us > wall_us() + _SOON_DAYS * _DAY_US:
        return Finding("certificate", True, found)
    advice = tell(
        "replace it and restart the hub: clients refuse one that has expired",
        "reemplácelo y reinicie el servidor: los clientes rechazan uno vencido",
    )
    return Finding("certificate", False, found, advice)
