"""Entering by an identity provider: OpenID Connect, the flow with an authorization code.

    page                     provider                                   browser
    enter/provider           begin: state, nonce, PKCE, a mark    →     to the provider, where one says who one is
    enter/callback           finish: the code becomes a token,    ←     back, with the state and a code
                             which says who it is and their role

Authlib writes the requests, `security.oidc` checks the token, `security.people_claims` reads it; what a person of that
name and role may do is left to others.

Promises:
- Somebody is let in only in the browser in which they began, once, within ten minutes, by a token that the issuer has
  signed for this client and for this very entry.
- No token is kept, and none is in an error or in the log.
- A provider that is down or slow holds up one page, for five seconds; see `errands`.
"""

from __future__ import annotations

import hmac
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote_plus, urlsplit

import msgspec

from pregon.clock import monotonic_ms
from pregon.edges.admin.begun import Begun, BegunEntries
from pregon.edges.admin.errands import Errands
from pregon.errors import KeysUnavailable, SettingsInvalid, Unauthorized
from pregon.limits import KIB, OIDC_KEYS_BYTES_MAX
from pregon.security.fetching import fetch_safely, post_safely
from pregon.security.issuer import discover, require_endpoint
from pregon.security.oidc import OidcOptions, OidcVerifier
from pregon.security.people_claims import name_of_claims, role_of_claims

log = logging.getLogger("pregon.security")

_DISCOVERED_MS_MAX = 600_000.0
"""For how long the discovery document is believed."""
_TOKENS_BYTES_MAX = 64 * KIB
_CODE_CHARACTERS_MAX = 4_000
_ERROR = re.compile(r"[a-z_]{1,60}")
_OPENID = "openid"
_SILENT = "the identity provider cannot be asked: the hub's log says why"

# Why somebody was not let in: what the pages have sentences for.
UNKNOWN_ENTRY, DENIED, FAILED, UNTRUSTED, NO_ROLE = "unknown_entry", "denied", "failed", "untrusted", "no_role"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderOptions:
    """Who the provider is, and who we are to it; raises SettingsInvalid for what could never be."""

    issuer: str
    client: str
    secret: str = ""
    """Empty for a public client."""
    keys: str = ""
    """Where the issuer's keys are; empty: where its discovery document says."""
    scopes: str = "openid profile"
    name_claim: str = "preferred_username"
    role_claim: str = "roles"
    title: str = ""
    """What people call it; empty for its host."""

    def __post_init__(self) -> None:
        if not self.issuer:
            raise SettingsInvalid("admin_oidc_client needs admin_oidc_issuer (or oidc_issuer): who lets people in?")
        if _OPENID not in self.scopes.split():
            raise SettingsInvalid("admin_oidc_scopes must have openid: without it no provider says who somebody is")
        if not self.name_claim or not self.role_claim:
            raise SettingsInvalid("admin_oidc_name_claim and admin_oidc_role_claim are names of claims")


class NotLetIn(Exception):
    """Somebody came back from the provider, or did not get there, and is not let in."""

    def __init__(self, reason: str, detail: str, name: str = "") -> None:
        super().__init__(detail)
        self.reason = reason
        self.name = name
        """Who it is, if that is certain."""
        self.back = "/admin"
        """The page that they wanted, as far as that is known."""


class Arrived(NamedTuple):
    """Somebody whom the provider has sent."""

    name: str
    role: str
    back: str
    """The page that they wanted."""


class _Doors(NamedTuple):
    """Where the provider is asked."""

    authorization: str
    token: str
    auth_methods: tuple[str, ...]
    says_issuer: bool
    """Whether it says who it is when it sends somebody back."""


class Provider:
    """The identity provider of the pages. For many threads; `begin` and `finish` may take seconds."""

    def __init__(
        self,
        options: ProviderOptions,
        *,
        fetch: Callable[[str], bytes] = partial(fetch_safely, bytes_max=OIDC_KEYS_BYTES_MAX),
        now_ms: Callable[[], float] = monotonic_ms,
    ) -> None:
        self._options = options
        self._fetch = fetch
        self._now_ms = now_ms
        # Its thread is not started: keys are fetched when somebody enters.
        self._verifier = OidcVerifier(
            OidcOptions(issuer=options.issuer, audience=options.client, keys=options.keys), fetch
        )
        self._entries = BegunEntries()
        self._errands = Errands(now_ms)
        self._doors: tuple[_Doors, float] | None = None
        self.title = options.title or urlsplit(options.issuer).hostname or options.issuer

    def stop(self) -> None:
        """Whoever waits for the provider waits no more."""
        self._errands.stop()

    def begin(self, browser: str, redirect_uri: str, back: str) -> str:
        """The provider's address, to which this browser goes to enter; raises KeysUnavailable or HubBusy."""
        doors = self._find_doors() or self._errands.run(self._discover)
        begun = self._entries.begin(browser, redirect_uri, back, self._now_ms())
        # Imported here: who uses no identity provider need not wait for it.
        from authlib.oauth2 import OAuth2Client

        client = OAuth2Client(
            None,
            self._options.client,
            scope=self._options.scopes,
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
        )
        try:
            address, _ = client.create_authorization_url(
                doors.authorization, state=begun.state, nonce=begun.nonce, code_verifier=begun.verifier
            )
        except ValueError as error:
            raise KeysUnavailable("the discovery document has an address that cannot be read") from error
        return str(address)

    def finish(self, browser: str, answer: Mapping[str, str]) -> Arrived:
        """Who came back with this answer; raises NotLetIn, KeysUnavailable or HubBusy."""
        begun = self._entries.take(answer.get("state", ""), browser, self._now_ms())
        if begun is None:
            raise NotLetIn(UNKNOWN_ENTRY, "no entry with this state was begun in this browser in the last ten minutes")
        try:
            return self._let_in(begun, answer)
        except NotLetIn as refusal:
            refusal.back = begun.back
            if refusal.reason != DENIED:
                log.warning("somebody is not let in", extra={"reason": refusal.reason, "detail": str(refusal)})
            raise

    def _let_in(self, begun: Begun, answer: Mapping[str, str]) -> Arrived:
        if "error" in answer:
            raise _refusal_of(answer["error"])
        code = answer.get("code", "")
        if not 0 < len(code) <= _CODE_CHARACTERS_MAX:
            raise NotLetIn(FAILED, "the identity provider sent no code")
        claims = self._errands.run(lambda: self._ask_who(begun, code, answer.get("iss")))
        name = name_of_claims(claims, self._options.name_claim)
        role = role_of_claims(claims, self._options.role_claim)
        if not name:
            raise NotLetIn(UNTRUSTED, f"the token has no name: neither {self._options.name_claim}, nor email, nor sub")
        if role is None:
            raise NotLetIn(
                NO_ROLE,
                f"{name}: neither {self._options.role_claim} nor scope has pregon:admin, pregon:operate or pregon:read",
                name,
            )
        return Arrived(name, role, begun.back)

    # What is asked of the provider, in the thread of an errand.

    def _find_doors(self) -> _Doors | None:
        found = self._doors
        return found[0] if found is not None and self._now_ms() < found[1] else None

    def _discover(self) -> _Doors:
        try:
            found = discover(self._options.issuer, self._fetch)
        except OSError as error:
            log.warning("identity provider not reached", extra={"reason": str(error)})
            raise KeysUnavailable(_SILENT) from error
        methods = found.get("token_endpoint_auth_methods_supported")
        doors = _Doors(
            require_endpoint(found, "authorization_endpoint", "page where one enters"),
            require_endpoint(found, "token_endpoint", "tokens"),
            tuple(methods) if isinstance(methods, list) else (),
            found.get("authorization_response_iss_parameter_supported") is True,
        )
        self._doors = doors, self._now_ms() + _DISCOVERED_MS_MAX
        return doors

    def _ask_who(self, begun: Begun, code: str, issuer: str | None) -> dict[str, Any]:
        """The claims of who has this code."""
        doors = self._find_doors() or self._discover()
        if issuer != self._options.issuer and (issuer is not None or doors.says_issuer):
            raise NotLetIn(UNTRUSTED, "the answer is of another issuer")
        token = self._exchange(doors, begun, code)
        try:
            claims = self._verify(token)
        except Unauthorized as error:
            raise NotLetIn(UNTRUSTED, str(error)) from error
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), begun.nonce.encode()):
            raise NotLetIn(UNTRUSTED, "the token was made for another entry (its nonce is not the one that was sent)")
        if claims.get("azp", self._options.client) != self._options.client:
            raise NotLetIn(UNTRUSTED, "the token was made for another client (azp)")
        return claims

    def _exchange(self, doors: _Doors, begun: Begun, code: str) -> str:
        """The id token that the provider gives for a code."""
        headers, body = self._token_request(doors, begun, code)
        try:
            status, answer = post_safely(doors.token, body, headers, _TOKENS_BYTES_MAX)
        except OSError as error:
            log.warning("identity provider not reached", extra={"reason": str(error)})
            raise KeysUnavailable(_SILENT) from error
        # Whatever it answers is about this code, which may be anybody's junk: it is no reason to leave it alone.
        try:
            found = msgspec.json.decode(answer, type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError):
            found = {}
        if status != 200:
            said = _known_error(str(found.get("error", "")))
            raise NotLetIn(FAILED, f"the identity provider gave no token: {status} {said}".rstrip())
        token = found.get("id_token")
        if not isinstance(token, str):
            raise NotLetIn(FAILED, "the identity provider gave no id_token: is openid among the client's scopes?")
        return token

    def _token_request(self, doors: _Doors, begun: Begun, code: str) -> tuple[dict[str, str], bytes]:
        from authlib.oauth2.auth import ClientAuth
        from authlib.oauth2.rfc6749.parameters import prepare_token_request

        client, secret = self._options.client, self._options.secret
        if not secret:
            auth = ClientAuth(client, "", "none")
        elif "client_secret_basic" not in doors.auth_methods and "client_secret_post" in doors.auth_methods:
            auth = ClientAuth(client, secret, "client_secret_post")
        else:
            # RFC 6749, 2.3.1: they are encoded as in a form before they are put together.
            auth = ClientAuth(quote_plus(client), quote_plus(secret), "client_secret_basic")
        body = prepare_token_request(
            "authorization_code", redirect_uri=begun.redirect_uri, code=code, code_verifier=begun.verifier
        )
        plain = {"Content-Type": "application/x-www-form-urlencoded"}
        _, headers, body = auth.prepare("POST", doors.token, plain, body)
        return headers, body.encode()

    def _verify(self, token: str) -> dict[str, Any]:
        """What the token says, if it may be believed; a key that is new at the issuer is fetched."""
        self._verifier.fetch_if_due()
        try:
            return self._verifier.read_once(token)
        except Unauthorized:
            self._verifier.fetch_if_due()
            return self._verifier.read_once(token)


def _known_error(error: str) -> str:
    """An error code of the protocol; empty for anything else, which is not repeated."""
    return error if _ERROR.fullmatch(error) else ""


def _refusal_of(error: str) -> NotLetIn:
    """What the provider's error means here. What it says besides may be anybody's words: it is not repeated."""
    reason = DENIED if error == "access_denied" else FAILED
    return NotLetIn(reason, f"the identity provider answered {_known_error(error) or 'with an error'}")
