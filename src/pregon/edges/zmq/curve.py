"""CURVE for the broker's sockets: only who shows a key that is known comes in.

ZAP, ZeroMQ's own protocol for this, is answered by pyzmq's authenticator, in a thread of its own.
"""

from __future__ import annotations

from typing import Protocol

import zmq
from zmq.auth.thread import ThreadAuthenticator

from pregon.security.curve import KeyFile

_DOMAIN = "services"


class Holders(Protocol):
    """Who may come in."""

    def is_known(self, public: str) -> bool:
        """Whether a key may."""
        ...

    def name_of(self, public: str) -> str:
        """Whose it is."""
        ...


class CurveServer:
    """Encrypts, and asks `holders` about every key."""

    def __init__(self, pair: KeyFile, holders: Holders) -> None:
        self._pair = pair
        self._holders = holders
        self._authenticator: ThreadAuthenticator | None = None

    @property
    def public(self) -> str:
        """What who connects must know."""
        return self._pair.public

    def apply(self, socket: zmq.Socket[bytes]) -> None:
        """Make a socket, not yet bound, a CURVE server."""
        socket.curve_server = True
        socket.curve_publickey = self._pair.public.encode()
        socket.curve_secretkey = self._pair.secret.encode()
        socket.zap_domain = _DOMAIN.encode()

    def name_of(self, user_id: str) -> str:
        """Whose key it is."""
        return self._holders.name_of(user_id)

    def callback(self, domain: str, key: bytes) -> bool:
        """Asked by the authenticator for every connection."""
        return domain == _DOMAIN and self._holders.is_known(key.decode("ascii", "replace"))

    def start(self, context: zmq.Context[zmq.Socket[bytes]]) -> None:
        """Begin to check keys."""
        self._authenticator = ThreadAuthenticator(context)
        self._authenticator.start()
        self._authenticator.configure_curve_callback(_DOMAIN, self)

    def stop(self) -> None:
        """No more."""
        if self._authenticator is not None:
            self._authenticator.stop()
            self._authenticator = None
