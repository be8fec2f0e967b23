"""A small identity provider: it says where its keys are, shows them, signs tokens, and changes its keys.

A real HTTP server on loopback, in a thread, so that a hub in a process of its own can be told to trust it:

    with IdentityProvider() as provider:
        hub = make_hub(oidc_issuer=provider.issuer, oidc_audience=provider.audience)
        token = provider.sign("ana", "pregon:read")

People can also enter there and be sent to a client, by the flow with an authorization code and PKCE: whoever is in
`provider.people` may press a button with their name.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import secrets
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

DISCOVERY = "/.well-known/openid-configuration"
KEYS = "/keys"
AUTHORIZE = "/authorize"
TOKEN = "/token"
CALLBACK = "/admin/enter/callback"
"""Where people are sent back to; a provider sends them nowhere else."""
CLIENT, SECRET = "pregon-pages", "a secret: +/=%"


class Answer(NamedTuple):
    """What the provider answers at a path."""

    body: bytes
    status: int = 200
    location: str = ""
    kind: str = "application/json"
    wait_s: float = 0.0


class IdentityProvider:
    """The provider; `tls` makes it speak https as `localhost`."""

    audience = "pregon"

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.answers: dict[str, Answer] = {}
        """Answers that a test puts in the place of the true ones, by path."""
        self.asked: list[str] = []
        """The paths of all requests."""
        self.people: dict[str, dict[str, Any]] = {}
        """Who may enter, and what is said of them."""
        self.secret = SECRET
        """Empty: the client is a public one."""
        self.said: dict[str, Any] = {}
        """Claims that are put in the place of the right ones in what a client is told."""
        self.auth_methods = ["client_secret_basic"]
        self._codes: dict[str, dict[str, str]] = {}
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
            return _json(self.discovered())
        if path == KEYS:
            return _json({"keys": [_public(kid, key) for kid, key in self._keys]})
        address = urlsplit(path)
        if address.path == AUTHORIZE:
            return self._ask(dict(parse_qsl(address.query, keep_blank_values=True)))
        return Answer(b"nothing here", 404)

    def discovered(self) -> dict[str, Any]:
        """What it says of itself."""
        return {
            "issuer": self.issuer,
            "jwks_uri": self.issuer + KEYS,
            "authorization_endpoint": self.issuer + AUTHORIZE,
            "token_endpoint": self.issuer + TOKEN,
            "token_endpoint_auth_methods_supported": self.auth_methods,
            "authorization_response_iss_parameter_supported": True,
        }

    # People who enter, and the client that they are sent to.

    def answer_post(self, path: str, body: str, authorization: str) -> Answer:
        """What to answer to a form."""
        form = dict(parse_qsl(body, keep_blank_values=True))
        if path in self.answers:
            return self.answers[path]
        if path == AUTHORIZE:
            return self.choose(form)
        return self._give_token(form, authorization) if path == TOKEN else Answer(b"nothing here", 404)

    def _ask(self, asked: dict[str, str]) -> Answer:
        """The page where somebody says who they are."""
        is_right = (asked.get("client_id"), asked.get("response_type")) == (CLIENT, "code")
        is_right &= asked.get("redirect_uri", "").endswith(CALLBACK)
        if not is_right or "openid" not in asked.get("scope", "").split() or not asked.get("nonce"):
            return Answer(b"this is no request of a client that is known here", 400)
        if asked.get("code_challenge_method") != "S256" or not asked.get("code_challenge"):
            return Answer(b"this client must use PKCE", 400)
        kept = "".join(f'<input type="hidden" name="{one}" value="{html.escape(asked[one])}">' for one in asked)
        buttons = "".join(
            f'<button name="who" value="{html.escape(one)}">{html.escape(one)}</button>' for one in self.people
        )
        form = f'<form method="post" action="{AUTHORIZE}">{kept}{buttons}<button>nobody</button></form>'
        head = '<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>Who are you?</title>'
        page = f"{head}<h1>Who are you?</h1>{form}"
        return Answer(page.encode(), kind="text/html; charset=utf-8")

    def choose(self, chosen: dict[str, str]) -> Answer:
        """Send somebody back to the client, with a code if they said who they are."""
        back: dict[str, str] = {"state": chosen.get("state", ""), "iss": self.issuer}
        if chosen.get("who") in self.people:
            back["code"] = secrets.token_urlsafe(16)
            self._codes[back["code"]] = chosen
        else:
            back |= {"error": "access_denied", "error_description": "<b>they did not say</b>"}
        return Answer(b"", 302, f"{chosen['redirect_uri']}?{urlencode(back)}")

    def _give_token(self, form: dict[str, str], authorization: str) -> Answer:
        """A token of whoever has the code, for the client that began, once."""
        if self._client_of(form, authorization) != (CLIENT, self.secret):
            return _json({"error": "invalid_client"}, 401)
        chosen = self._codes.pop(form.get("code", ""), None)
        if chosen is None or form.get("redirect_uri") != chosen["redirect_uri"]:
            return _json({"error": "invalid_grant"}, 400)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != chosen["code_challenge"]:
            return _json({"error": "invalid_grant", "error_description": "PKCE"}, 400)
        usual = {"aud": CLIENT, "nonce": chosen["nonce"], **self.people[chosen["who"]]}
        token = self.sign(f"id-of-{chosen['who']}", **{"scopes": "openid profile", **usual, **self.said})
        return _json({"id_token": token, "access_token": secrets.token_urlsafe(16), "token_type": "Bearer"})

    def _client_of(self, form: dict[str, str], authorization: str) -> tuple[str, str]:
        """Which client asks, and its secret, by the one method that it was told to use."""
        if not self.secret:
            return form.get("client_id", ""), authorization
        if "client_secret_post" in self.auth_methods:
            return form.get("client_id", ""), form.get("client_secret", "")
        client, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        return unquote_plus(client), unquote_plus(secret)


def _json(value: dict[str, Any], status: int = 200) -> Answer:
    return Answer(json.dumps(value).encode(), status)


def _public(kid: str, key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
    shown = jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**shown, "kid": kid, "use": "sig", "alg": "ES256"}


def _handler(provider: IdentityProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            provider.asked.append(self.path)
            self._send(provider.answer(self.path))

        def do_POST(self) -> None:
            provider.asked.append(self.path)
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._send(provider.answer_post(self.path, body, self.headers.get("Authorization", "")))

        def _send(self, answer: Answer) -> None:
            time.sleep(answer.wait_s)
            self.send_response(answer.status)
            if answer.location:
                self.send_header("Location", answer.location)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: Any) -> None:
            """Say nothing on the terminal."""

    return Handler
