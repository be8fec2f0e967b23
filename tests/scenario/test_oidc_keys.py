"""The keys of an identity provider: where they are found, when they are fetched, and what is not followed to get them.

The provider is real; the clock that says when to fetch is the test's.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pregon.clock import monotonic_ms
from pregon.errors import KeysUnavailable, PregonError, SettingsInvalid, Unauthorized
from pregon.limits import OIDC_KEYS_BYTES_MAX, OIDC_KEYS_MAX
from pregon.security.fetching import fetch_safely
from pregon.security.oidc import Claims, OidcOptions, OidcVerifier

from .identity_provider import DISCOVERY, KEYS, Answer, IdentityProvider

SOON_S = 10.0


@pytest.fixture
def provider() -> Iterator[IdentityProvider]:
    with IdentityProvider() as provider:
        yield provider


class Clock:
    """Moves only when it is told to."""

    now_s = 0.0

    def monotonic_ms(self) -> float:
        return self.now_s * 1_000


def verifier_of(provider: IdentityProvider, clock: Clock | None = None, **options: Any) -> OidcVerifier:
    """A verifier without a thread, that has looked for the keys once."""
    given = {"issuer": provider.issuer, "audience": provider.audience, **options}
    verifier = OidcVerifier(OidcOptions(**given), monotonic_ms=(clock or Clock()).monotonic_ms)
    verifier.fetch_if_due()
    return verifier


def fetches(provider: IdentityProvider) -> int:
    """How often the keys were asked for."""
    return provider.asked.count(KEYS)


def accepted_soon(verifier: OidcVerifier, token: str) -> Claims:
    """The claims, once the thread has brought the key."""
    deadline_ms = monotonic_ms() + SOON_S * 1_000
    while True:
        try:
            return verifier.verify(token)
        except PregonError:
            assert monotonic_ms() < deadline_ms
            time.sleep(0.005)


def test_the_thread_brings_the_keys_and_those_that_are_new(provider: IdentityProvider) -> None:
    verifier = OidcVerifier(OidcOptions(issuer=provider.issuer, audience=provider.audience))
    verifier.start()
    first = accepted_soon(verifier, provider.sign("ana", "pregon:read"))
    provider.rotate()

    second = accepted_soon(verifier, provider.sign("luis", ["pregon:admin"]))
    verifier.stop()

    assert (first.subject, first.scopes) == ("ana", {"pregon:read"})
    assert (second.subject, second.scopes) == ("luis", {"pregon:admin"})
    assert provider.asked == [DISCOVERY, KEYS] * 2


def test_verify_does_not_wait_for_a_provider_that_hangs(provider: IdentityProvider) -> None:
    hanging, may_go_on = threading.Event(), threading.Event()

    def fetch(address: str) -> bytes:
        if fetches(provider) > 0:
            hanging.set()
            assert may_go_on.wait(SOON_S)
        return fetch_safely(address, OIDC_KEYS_BYTES_MAX)

    verifier = OidcVerifier(OidcOptions(issuer=provider.issuer, audience=provider.audience), fetch)
    old = provider.sign("ana")
    verifier.start()
    accepted_soon(verifier, old)
    provider.rotate()

    with pytest.raises(Unauthorized):
        verifier.verify(provider.sign("luis"))
    assert hanging.wait(SOON_S)
    before_ms = monotonic_ms()
    with pytest.raises(Unauthorized):
        verifier.verify(provider.sign("luis"))
    found = verifier.verify(old)
    took_ms = monotonic_ms() - before_ms
    may_go_on.set()
    verifier.stop()

    assert found.subject == "ana"
    assert took_ms < 1_000


def test_an_unknown_kid_fetches_once_and_then_it_is_accepted(provider: IdentityProvider) -> None:
    verifier = verifier_of(provider)
    provider.rotate()
    token = provider.sign("ana")

    with pytest.raises(Unauthorized, match="no such key"):
        verifier.verify(token)
    verifier.fetch_if_due()

    assert verifier.verify(token).subject == "ana"
    assert fetches(provider) == 2


def test_a_flood_of_unknown_kids_fetches_at_most_once_in_30_s(provider: IdentityProvider) -> None:
    clock = Clock()
    verifier = verifier_of(provider, clock)
    with IdentityProvider() as stranger:
        stranger.rotate()
        token = stranger.sign("ana", iss=provider.issuer)

    seen, at_s = fetches(provider), []
    for tenth in range(900):
        clock.now_s = tenth / 10
        with pytest.raises(Unauthorized):
            verifier.verify(token)
        verifier.fetch_if_due()
        if fetches(provider) > seen:
            seen = fetches(provider)
            at_s.append(clock.now_s)

    assert at_s == [0, 30, 60]


def test_an_unknown_kid_that_comes_too_early_is_looked_for_later(provider: IdentityProvider) -> None:
    clock = Clock()
    verifier = verifier_of(provider, clock)
    for _ in range(2):
        provider.rotate()
        with pytest.raises(Unauthorized):
            verifier.verify(provider.sign("ana"))
        verifier.fetch_if_due()
    count = fetches(provider)

    clock.now_s = 30
    verifier.fetch_if_due()

    assert count == 2
    assert verifier.verify(provider.sign("ana")).subject == "ana"


def test_a_key_that_is_made_during_a_fetch_is_not_forgotten(provider: IdentityProvider) -> None:
    clock = Clock()

    def fetch(address: str) -> bytes:
        document = fetch_safely(address, OIDC_KEYS_BYTES_MAX)
        if address.endswith(KEYS) and fetches(provider) == 2:
            provider.rotate()
            with pytest.raises(Unauthorized):
                verifier.verify(provider.sign("ana"))
        return document

    options = OidcOptions(issuer=provider.issuer, audience=provider.audience)
    verifier = OidcVerifier(options, fetch, monotonic_ms=clock.monotonic_ms)

    for clock.now_s in (0, 600, 600):
        verifier.fetch_if_due()

    assert verifier.verify(provider.sign("ana")).subject == "ana"


def test_only_an_unknown_kid_makes_us_fetch(provider: IdentityProvider) -> None:
    verifier = verifier_of(provider)
    wrong = [
        "rubbish",
        provider.sign("ana", iss="another"),
        provider.sign("ana", valid_s=-100),
        provider.sign("a")[:-9],
    ]

    for token in wrong:
        with pytest.raises(Unauthorized):
            verifier.verify(token)
        verifier.fetch_if_due()

    assert fetches(provider) == 1


def test_a_withdrawn_key_takes_its_accepted_tokens_with_it(provider: IdentityProvider) -> None:
    clock = Clock()
    verifier = verifier_of(provider, clock)
    token = provider.sign("ana")
    verifier.verify(token)
    provider.rotate(keep=False)

    clock.now_s = 600
    verifier.fetch_if_due()

    with pytest.raises(Unauthorized, match="no such key"):
        verifier.verify(token)


def test_keys_are_fetched_every_ten_minutes(provider: IdentityProvider) -> None:
    clock = Clock()
    verifier = verifier_of(provider, clock)

    counts = []
    for clock.now_s in (599, 600, 1_199, 1_200):
        verifier.fetch_if_due()
        counts.append(fetches(provider))

    assert counts == [1, 2, 2, 3]


def test_a_provider_that_is_down_is_tried_again_ever_more_seldom(provider: IdentityProvider) -> None:
    clock = Clock()
    provider.answers[DISCOVERY] = Answer(b"down", 503)
    verifier = verifier_of(provider, clock)

    tries = []
    for clock.now_s in range(1, 100):
        verifier.fetch_if_due()
        if len(provider.asked) > len(tries) + 1:
            tries.append(clock.now_s)

    assert tries == [1, 3, 7, 15, 31, 61, 91]


def test_without_keys_a_token_may_be_tried_again_but_rubbish_may_not(provider: IdentityProvider) -> None:
    provider.answers[KEYS] = Answer(b"down", 503)

    verifier = verifier_of(provider)

    with pytest.raises(KeysUnavailable):
        verifier.verify(provider.sign("ana"))
    with pytest.raises(Unauthorized):
        verifier.verify("rubbish")


NO_KEYS = {
    "down": Answer(b"", 503),
    "not JSON": Answer(b"<html>"),
    "too deep": Answer(b'{"keys":' + b"[" * 100_000),
    "no list": Answer(b'{"keys": 7}'),
    "an empty list": Answer(b'{"keys": []}'),
    "moved to a file": Answer(b"", 302, "file:///etc/passwd"),
    "moved to where it is not safe": Answer(b"", 302, "http://127.0.0.1:1/"),
}


@pytest.mark.parametrize("name", NO_KEYS)
def test_old_keys_serve_while_no_better_ones_come_which_is_logged_once(
    provider: IdentityProvider, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    caplog.set_level(logging.INFO, "pregon.security")
    clock = Clock()
    verifier = verifier_of(provider, clock)
    provider.answers[KEYS] = NO_KEYS[name]

    for clock.now_s in (3_600, 7_200, 10_800):
        verifier.fetch_if_due()
    found = verifier.verify(provider.sign("ana"))
    del provider.answers[KEYS]
    clock.now_s = 14_400
    verifier.fetch_if_due()

    assert found.subject == "ana"
    assert [(record.levelname, record.exc_info) for record in caplog.records] == [("WARNING", None), ("INFO", None)]
    assert fetches(provider) == 5


LIMITS = [(OIDC_KEYS_MAX, 0, True), (OIDC_KEYS_MAX + 1, 0, False), (1, OIDC_KEYS_BYTES_MAX, False)]


@pytest.mark.parametrize(("count", "padding", "is_read"), LIMITS)
def test_keys_beyond_a_limit_are_not_read(provider: IdentityProvider, count: int, padding: int, is_read: bool) -> None:
    (shown,) = json.loads(provider.answer(KEYS).body)["keys"]
    provider.answers[KEYS] = Answer(json.dumps({"keys": [shown] * count}).encode() + b" " * padding)

    verifier = verifier_of(provider)

    if is_read:
        assert verifier.verify(provider.sign("ana")).subject == "ana"
    else:
        with pytest.raises(KeysUnavailable):
            verifier.verify(provider.sign("ana"))


@pytest.mark.parametrize(
    ("issuer", "said", "keys"),
    [
        ("https://id.example", "https://other.example", "https://id.example/keys"),
        ("https://id.example", "https://id.example/", "https://id.example/keys"),
        ("https://id.example", "https://id.example", "/etc/passwd"),
        ("https://id.example", "https://id.example", "http://127.0.0.1/keys"),
        ("http://127.0.0.1", "http://127.0.0.1", "http://id.example/keys"),
    ],
)
def test_a_discovery_document_that_cannot_be_trusted_is_not_followed(issuer: str, said: str, keys: str) -> None:
    asked: list[str] = []

    def fetch(address: str) -> bytes:
        asked.append(address)
        return json.dumps({"issuer": said, "jwks_uri": keys}).encode()

    OidcVerifier(OidcOptions(issuer=issuer, audience="hub"), fetch).fetch_if_due()

    assert asked == [issuer + DISCOVERY]


def test_an_issuer_may_end_with_a_slash(provider: IdentityProvider) -> None:
    issuer, keys = provider.issuer + "/realm/", provider.issuer + KEYS
    provider.answers["/realm" + DISCOVERY] = Answer(json.dumps({"issuer": issuer, "jwks_uri": keys}).encode())

    verifier = verifier_of(provider, issuer=issuer)

    assert verifier.verify(provider.sign("ana", iss=issuer)).subject == "ana"


def test_keys_may_be_in_a_file(provider: IdentityProvider, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    file.write_bytes(provider.answer(KEYS).body)

    verifier = verifier_of(provider, issuer="any name", keys=str(file))

    assert verifier.verify(provider.sign("ana", iss="any name")).subject == "ana"
    assert provider.asked == []


EMPTY = [{"issuer": ""}, {"audience": ""}, {"scopes_claim": ""}, {"leeway_s": -1}, {"leeway_s": 601}]
UNSAFE = [{"issuer": "id.example"}, {"issuer": "http://id.example"}, {"keys": "http://id.example/keys"}]


@pytest.mark.parametrize("wrong", [*EMPTY, *UNSAFE, {"keys": "file:///etc/passwd"}])
def test_options_that_could_not_be_safe_are_refused(wrong: dict[str, Any]) -> None:
    right: dict[str, Any] = {"issuer": "https://id.example", "audience": "hub"}

    with pytest.raises(SettingsInvalid):
        OidcOptions(**{**right, **wrong})
