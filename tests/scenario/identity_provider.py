"""A small identity provider: it says where its keys are, shows them, signs tokens, and changes its keys.

A real HTTP server on loopback, in a thread, so that a hub in a process of its own can be told to trust it:

    with IdentityProvider() as provider:
        hub = make_hub(oidc_issuer=provider.issuer, oidc_audience=provider.audience)
        token = provider.sign("ana", "pregon:read")
"""

from __future__ import annotations

import json
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

DISCOVERY = "/.well-known/openid-configuration"
KEYS = "/keys"


class Answer(NamedTuple):
    """What the provider answers at a path."""

    body: bytes
    status: int = 200
    location: str = ""


class IdentityProvider:
    """The provider; `tls` makes it speak https as `localhost`."""

    audience = "pregon"

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.answers: dict[str, Answer] = {}
        """Answers that a test puts in the place of the true ones, by path."""
        self.asked: list[str] = []
        """The paths of all requests."""
        self._keys: list[tuple[str, ec.EllipticCurvePrivateKey]] = []
        self._made = 0
        self.rotate()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        scheme, host = ("https", "localhost") if tls else ("http", "127.0.0.1")
        self.issuer = f"{scheme}://{host}:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> IdentityProvider:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def rotate(self, keep: bool = True) -> None:
        """Sign with a new key from now on; the old ones are still shown, unless they are not to be kept."""
        self._made += 1
        new = (f"key-{self._made}", ec.generate_private_key(ec.SECP256R1()))
        self._keys = [new, *(self._keys if keep else [])]

    def sign(self, subject: str, scopes: str | list[str] = "", valid_s: float = 300, **claims: Any) -> str:
        """A token for the subject; `claims` are put in, or in the place of the usual ones."""
        now = int(time.time())
        usual = {"iss": self.issuer, "aud": self.audience, "sub": subject, "scope": scopes, "iat": now}
        kid, key = self._keys[0]
        return jwt.encode({**usual, "exp": now + valid_s, **claims}, key, "ES256", headers={"kid": kid})

    def answer(self, path: str) -> Answer:
        """What to answer at a path."""
        if path in self.answers:
            return self.answers[path]
        if path == DISCOVERY:
            return Answer(json.dumps({"issuer": self.issuer, "jwks_uri": self.issuer + KEYS}).encode())
        if path == KEYS:
            return Answer(json.dumps({"keys": [_public(kid, key) for kid, key in self._keys]}).encode())
        return Answer(b"nothing here", 404)


def _public(kid: str, key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
    shown = jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**shown, "kid": kid, "use": "sig", "alg": "ES256"}


def _handler(provider: IdentityProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            provider.asked.append(self.path)
            answer = provider.answer(self.path)
            self.send_response(answer.status)
            if answer.location:
                self.send_header("Location", answer.location)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: Any) -> None:
            """Say nothing on the terminal."""

    return Handler
