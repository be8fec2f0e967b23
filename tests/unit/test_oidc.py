"""Tokens of an identity provider: which are accepted, and every way in which one can be wrong."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa

from pregon.errors import Unauthorized
from pregon.limits import BEARER_BYTES_MAX
from pregon.security import oidc
from pregon.security.oidc import Claims, OidcOptions, OidcVerifier

ISSUER = "https://id.example"
NOW_S = 1_800_000_000

RSA = rsa.generate_private_key(65_537, 2_048)
OTHER_RSA = rsa.generate_private_key(65_537, 2_048)
P256, P384, P521 = (ec.generate_private_key(curve()) for curve in (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1))
ED25519, ED448 = ed25519.Ed25519PrivateKey.generate(), ed448.Ed448PrivateKey.generate()
PUBLIC_PEM = RSA.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def entry(private: Any, kid: str | None = "k1", **members: Any) -> dict[str, Any]:
    """A key as the provider shows it."""
    kinds = {rsa.RSAPrivateKey: jwt.algorithms.RSAAlgorithm, ec.EllipticCurvePrivateKey: jwt.algorithms.ECAlgorithm}
    kind = next((kinds[one] for one in kinds if isinstance(private, one)), jwt.algorithms.OKPAlgorithm)
    shown = dict(kind.to_jwk(private.public_key(), as_dict=True))
    shown.pop("key_ops", None)
    return shown | ({} if kid is None else {"kid": kid}) | members


def claims(**changes: Any) -> dict[str, Any]:
    """The claims of a good token, with changes; None takes one away."""
    good = {"iss": ISSUER, "aud": "hub", "sub": "ana", "exp": NOW_S + 300, "iat": NOW_S, "scope": "a b"}
    return {name: value for name, value in (good | changes).items() if value is not None}


def sign(private: Any = RSA, algorithm: str = "RS256", kid: str | None = "k1", **changes: Any) -> str:
    """A token as the provider makes them."""
    return jwt.encode(claims(**changes), private, algorithm, headers={} if kid is None else {"kid": kid})


def part(content: Any) -> str:
    """One of the three parts of a token."""
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def sign_raw(payload: bytes) -> str:
    """A token signed over any payload."""
    return jwt.PyJWS().encode(payload, RSA, "RS256", headers={"kid": "k1"})


class Clock:
    """What time it is for the verifier."""

    now_s: float = NOW_S

    def wall_us(self) -> int:
        return round(self.now_s * 1_000_000)


def verifier_with(*keys: Any, clock: Clock | None = None, scopes_claim: str = "scope") -> OidcVerifier:
    """A verifier that has these keys; how it comes by them is proved with a real provider, in the scenarios."""
    options = OidcOptions(issuer=ISSUER, audience="hub", keys="https://id.example/keys", scopes_claim=scopes_claim)
    document = json.dumps({"keys": keys}).encode()
    verifier = OidcVerifier(options, lambda _: document, wall_us=(clock or Clock()).wall_us)
    verifier.fetch_if_due()
    return verifier


def refusal(verifier: OidcVerifier, token: str) -> str:
    """Why a token is refused, which must be one sentence without the token."""
    with pytest.raises(Unauthorized) as caught:
        verifier.verify(token)
    reason = str(caught.value)
    assert "\n" not in reason
    assert all(len(piece) < 4 or piece not in reason for piece in token.split("."))
    return reason


def test_a_good_token_says_who_and_what_for() -> None:
    verifier = verifier_with(entry(RSA))

    found = verifier.verify(sign())

    assert found == Claims("ana", frozenset({"a", "b"}), (NOW_S + 300) * 1_000_000)


@pytest.mark.parametrize(
    ("private", "algorithm"),
    [
        *((RSA, f"{family}{bits}") for family in ("RS", "PS") for bits in (256, 384, 512)),
        (P256, "ES256"),
        (P384, "ES384"),
        (P521, "ES512"),
        (ED25519, "EdDSA"),
        (ED448, "EdDSA"),
    ],
)
def test_every_asymmetric_algorithm_is_accepted_with_a_key_that_fits(private: Any, algorithm: str) -> None:
    verifier = verifier_with(entry(private))

    found = verifier.verify(sign(private, algorithm))

    assert found.subject == "ana"


@pytest.mark.parametrize(
    ("scope", "expected"), [(None, set()), ("", set()), (" a  b ", {"a", "b"}), (["a", "b", "a"], {"a", "b"})]
)
def test_scopes_are_a_text_or_a_list(scope: Any, expected: set[str]) -> None:
    verifier = verifier_with(entry(RSA))

    found = verifier.verify(sign(scope=scope))

    assert found.scopes == expected


def test_scopes_come_from_the_claim_that_was_set() -> None:
    verifier = verifier_with(entry(RSA), scopes_claim="scp")

    found = verifier.verify(sign(scp=["c"]))

    assert found.scopes == {"c"}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"iss": "https://evil.example"}, "another issuer"),
        ({"iss": ISSUER + "/"}, "another issuer"),
        ({"iss": None}, "iss"),
        ({"aud": "other"}, "another audience"),
        ({"aud": "hub2"}, "another audience"),
        ({"aud": ["x", "y"]}, "another audience"),
        ({"aud": []}, "another audience"),
        ({"aud": None}, "aud"),
        ({"aud": {"hub": 1}}, "aud"),
        ({"exp": NOW_S - 30}, "expired"),
        ({"exp": -1}, "expired"),
        ({"exp": None}, "exp"),
        ({"exp": str(NOW_S + 300)}, "exp"),
        ({"exp": True}, "exp"),
        ({"nbf": NOW_S + 31}, "not valid yet"),
        ({"nbf": 1e308}, "not valid yet"),
        ({"nbf": "soon"}, "nbf"),
        ({"iat": NOW_S + 31}, "not valid yet"),
        ({"sub": None}, "sub"),
        ({"sub": ""}, "sub"),
        ({"sub": 7}, "sub"),
        ({"scope": 7}, "claim"),
        ({"scope": ["a", 7]}, "claim"),
    ],
)
def test_a_token_with_a_wrong_claim_is_refused(changes: dict[str, Any], told: str) -> None:
    verifier = verifier_with(entry(RSA))
    token = sign_raw(json.dumps(claims(**changes)).encode())

    reason = refusal(verifier, token)

    assert told in reason


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": ["other", "hub"]},
        {"exp": NOW_S - 29},
        {"exp": NOW_S + 0.5},
        {"exp": 1e308},
        {"nbf": NOW_S + 30, "iat": NOW_S + 30},
        {"iat": None},
    ],
)
def test_a_token_within_the_leeway_and_for_several_audiences_is_accepted(changes: dict[str, Any]) -> None:
    verifier = verifier_with(entry(RSA))
    token = sign_raw(json.dumps(claims(**changes)).encode())

    found = verifier.verify(token)

    assert found.subject == "ana"


CRITICAL = {"alg": "RS256", "kid": "k1", "crit": ["b64"], "b64": True}


def forged_by_hmac() -> str:
    """HS256 with the public key as the secret: PyJWT would refuse to make one."""
    signed = f"{part({'alg': 'HS256', 'kid': 'k1'})}.{part(claims())}"
    return f"{signed}.{part(hmac.digest(PUBLIC_PEM, signed.encode(), hashlib.sha256))}"


def tampered() -> str:
    """Another subject under the old signature."""
    header, _, signature = sign().split(".")
    return f"{header}.{part(claims(sub='root'))}.{signature}"


WRONG_TOKENS: dict[str, tuple[Callable[[], str], str]] = {
    "alg none": (lambda: f"{part({'alg': 'none', 'kid': 'k1'})}.{part(claims())}.", "not accepted"),
    "alg not a text": (lambda: f"{part({'alg': ['RS256'], 'kid': 'k1'})}.{part(claims())}.AA", "well-formed"),
    "no alg": (lambda: f"{part({'kid': 'k1'})}.{part(claims())}.AA", "well-formed"),
    "public key as secret": (forged_by_hmac, "not accepted"),
    "unknown kid": (lambda: sign(kid="k9"), "no such key"),
    "kid not a text": (lambda: f"{part({'alg': 'RS256', 'kid': 1})}.{part(claims())}.AA", "well-formed"),
    "tampered payload": (tampered, "signature"),
    "no signature": (lambda: sign().rpartition(".")[0] + ".", "signature"),
    "other key": (lambda: sign(OTHER_RSA), "signature"),
    "other key, shown in the token": (
        lambda: jwt.encode(claims(), OTHER_RSA, "RS256", headers={"kid": "k1", "jwk": entry(OTHER_RSA)}),
        "signature",
    ),
    "key of another type": (lambda: sign(P256, "ES256"), "does not fit"),
    "critical extension": (lambda: f"{part(CRITICAL)}.{part(claims())}.AA", "extension"),
    "payload not an object": (lambda: sign_raw(b"[]"), "well-formed"),
    "payload not JSON": (lambda: sign_raw(b"\xff{"), "well-formed"),
    "payload too deep": (lambda: sign_raw(b"[" * 4_000), "well-formed"),
    "half a character in the subject": (
        lambda: sign_raw(json.dumps(claims()).replace("ana", "\\ud800").encode()),
        "well-formed",
    ),
    "exp beyond numbers": (
        lambda: sign_raw(json.dumps(claims()).replace(str(NOW_S + 300), "Infinity").encode()),
        "well-formed",
    ),
    "header too deep": (lambda: f"{part(b'[' * 4_000)}.{part(claims())}.AA", "well-formed"),
    "header a list": (lambda: f"{part([])}.{part(claims())}.AA", "well-formed"),
    "rubbish": (lambda: "rubbish", "well-formed"),
    "rubbish in three parts": (lambda: "a.b.c", "well-formed"),
    "dots": (lambda: "..", "well-formed"),
    "four parts": (lambda: sign() + ".AA", "well-formed"),
    "a line more": (lambda: sign() + "\n", "well-formed"),
    "empty": (lambda: "", "1 to"),
    "too long": (lambda: sign(filler="x" * BEARER_BYTES_MAX), "1 to"),
    "not ASCII": (lambda: sign() + "é", "1 to"),
    "half a character": (lambda: sign() + "\ud800", "1 to"),
}


@pytest.mark.parametrize("name", WRONG_TOKENS)
def test_a_token_that_is_not_the_issuers_is_refused(name: str) -> None:
    make, told = WRONG_TOKENS[name]
    verifier = verifier_with(entry(RSA))
    token = make()

    reason = refusal(verifier, token)

    assert told in reason


@pytest.mark.parametrize(
    "unusable",
    [
        entry(RSA, use="enc"),
        entry(RSA, key_ops=["encrypt"]),
        entry(RSA, alg="RSA-OAEP"),
        entry(RSA, alg="HS256"),
        entry(RSA, alg=["RS256"]),
        entry(RSA, n=7),
        entry(RSA, n="!"),
        entry(rsa.generate_private_key(65_537, 1_024)),
        {"kty": "oct", "kid": "k1", "k": part(PUBLIC_PEM)},
        {"kty": ["RSA"]},
        {"kid": "k1"},
        "a text",
        None,
    ],
)
def test_an_entry_that_is_no_key_for_signatures_is_not_used_and_spoils_no_other(unusable: Any) -> None:
    verifier = verifier_with(unusable, entry(P256, "k2"))

    found = verifier.verify(sign(P256, "ES256", "k2"))

    assert found.subject == "ana"
    assert "no such key" in refusal(verifier, sign())


def test_a_key_with_an_algorithm_of_its_own_takes_no_other() -> None:
    verifier = verifier_with(entry(RSA, alg="PS256"))

    found = verifier.verify(sign(algorithm="PS256"))

    assert found.subject == "ana"
    assert "does not fit" in refusal(verifier, sign(algorithm="RS256"))


def test_a_curve_has_its_own_algorithm() -> None:
    verifier = verifier_with(entry(P384))

    reason = refusal(verifier, sign(P256, "ES256"))

    assert "does not fit" in reason


def test_a_token_without_kid_is_accepted_only_if_one_key_fits() -> None:
    token = sign(kid=None)

    found = verifier_with(entry(RSA, kid=None), entry(P256)).verify(token)
    reason = refusal(verifier_with(entry(RSA), entry(OTHER_RSA, "k2")), token)

    assert found.subject == "ana"
    assert "does not say which" in reason


def test_a_token_that_was_accepted_is_refused_once_it_expires() -> None:
    clock = Clock()
    verifier = verifier_with(entry(RSA), clock=clock)
    token = sign()
    verifier.verify(token)

    clock.now_s = NOW_S + 329.9
    again = verifier.verify(token)
    clock.now_s = NOW_S + 330

    assert again.subject == "ana"
    assert "expired" in refusal(verifier, token)


def test_a_token_that_was_accepted_is_not_checked_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    verifier = verifier_with(entry(RSA))
    token = sign()
    first = verifier.verify(token)
    monkeypatch.setattr(oidc, "_check_signature", None)

    second = verifier.verify(token)

    assert second is first


def test_not_too_many_tokens_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oidc, "_REMEMBERED_MAX", 3)
    verifier = verifier_with(entry(ED25519))

    sizes = []
    for number in range(10):
        verifier.verify(sign(ED25519, "EdDSA", sub=f"s{number}"))
        assert verifier._keyring is not None
        sizes.append(len(verifier._keyring.accepted))

    assert max(sizes) == 3
