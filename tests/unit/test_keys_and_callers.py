"""Keys, rates and callers: the pure parts of who may do what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pregon.errors import BadName, BadRequest, Forbidden, RateLimited, Unauthorized
from pregon.hub.access import NewKey, create_key
from pregon.hub.keyring import Keyring
from pregon.limits import BEARER_BYTES_MAX, BODY_BYTES_MAX, DESCRIPTION_CHARACTERS_MAX
from pregon.model.catalog import NUMBER_MAX
from pregon.security.callers import (
    ANYBODY,
    Caller,
    Rules,
    caller_of_claims,
    not_for,
    scopes_of,
    sole_name,
)
from pregon.security.keys import Key, Secret, hash_secret, is_secret, make_secret, split_key
from pregon.security.rates import Rates
from pregon.store.keys import KeptKey


def rules(*, is_open: bool = False, require_keys: bool = False, keys: tuple[tuple[str, str], ...] = ()) -> Rules:
    """The rules of a hub where these have keys."""
    return Rules(is_open, require_keys, lambda kind, name: (kind, name) in keys)


def test_a_new_key_is_taken_apart_into_what_finds_it_and_what_proves_it() -> None:
    made = make_secret()

    parts = split_key(made.text)

    assert parts is not None
    assert parts[0] == made.id
    assert is_secret(parts[1], made.hash)
    assert not is_secret(parts[1] + "x", made.hash)


def test_a_new_key_does_not_show_itself_in_a_log() -> None:
    made = make_secret()

    shown = repr(made)

    assert made.id in shown
    assert made.text[-10:] not in shown


@pytest.mark.parametrize(
    "presented",
    [
        "",
        "pgn",
        "pgn_",
        "pgn__",
        "pgn_short_secret",
        "pgn_0123456789ab",
        "pgn_0123456789ab_",
        "PGN_0123456789ab_x",
        "x",
    ],
)
def test_what_does_not_look_like_a_key_is_none(presented: str) -> None:
    assert split_key(presented) is None


def test_a_secret_may_have_the_separator_in_it() -> None:
    assert split_key("pgn_0123456789ab_a_b_c") == ("0123456789ab", "a_b_c")


@pytest.mark.parametrize("secret", ["", "x", "\ud800", "ñ"])
def test_nothing_is_the_secret_of_a_key_that_is_not_there(secret: str) -> None:
    assert not is_secret(secret, None)
    assert is_secret(secret, hash_secret(secret))


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"kind": "topic"}, "producer"),
        ({"kind": "token", "scopes": ()}, "scopes"),
        ({"kind": "producer", "scopes": ("read",)}, "scopes"),
        ({"kind": "producer", "requests_per_s": 0}, "requests_per_s"),
        ({"kind": "producer", "body_bytes_max": 0}, "body_bytes_max"),
    ],
)
def test_a_key_that_makes_no_sense_says_what_is_wrong(values: dict[str, object], word: str) -> None:
    with pytest.raises(BadRequest, match=word):
        Key(id="0" * 12, owner="x", **values).check()  # type: ignore[arg-type]


def test_a_bucket_holds_one_second_and_fills_at_its_rate() -> None:
    rates = Rates()

    taken = 0
    for now_ms in range(0, 3_000, 10):
        try:
            rates.take("key", 20, float(now_ms))
            taken += 1
        except RateLimited:
            pass

    assert 20 + 59 <= taken <= 20 + 60


def test_who_is_refused_is_told_when_to_come_back() -> None:
    rates = Rates()
    rates.take("key", 1, 0.0)

    with pytest.raises(RateLimited, match="in 750 ms"):
        rates.take("key", 1, 250.0)
    rates.take("key", 1, 1_000.0)

    with pytest.raises(RateLimited):
        rates.take("key", 1, 1_000.0)


def test_a_long_silence_saves_nothing_up() -> None:
    rates = Rates()
    rates.take("key", 2, 0.0)

    rates.take("key", 2, 1e9)
    rates.take("key", 2, 1e9)

    with pytest.raises(RateLimited):
        rates.take("key", 2, 1e9)


def test_refused_requests_do_not_put_the_next_one_off() -> None:
    rates = Rates()
    rates.take("key", 1, 0.0)

    for now_ms in range(1, 1_000, 10):
        with pytest.raises(RateLimited):
            rates.take("key", 1, float(now_ms))

    rates.take("key", 1, 1_000.0)


def test_the_larger_scopes_include_the_smaller() -> None:
    assert scopes_of(("admin",)) == {"admin", "operate", "read"}
    assert scopes_of(("operate",)) == {"operate", "read"}
    assert scopes_of(("read",)) == {"read"}
    assert scopes_of(()) == frozenset()


def test_a_token_of_an_identity_provider_is_who_its_scopes_say() -> None:
    scopes = {"pregon:operate", "pregon:producer:a", "pregon:producer:b.c", "pregon:subscriber:d", "openid", "admin"}

    caller = caller_of_claims("ana", frozenset(scopes))

    assert caller.name == "bearer ana"
    assert caller.producers == {"a", "b.c"}
    assert caller.subscribers == {"d"}
    assert caller.scopes == {"operate", "read"}


@pytest.mark.parametrize(
    "scope",
    ["admin", "pregon:Admin", "pregon:admin:x", "pregon:pregon:admin", "PREGON:admin", "xpregon:admin", "pregon:", ""],
)
def test_what_is_nearly_a_scope_is_none(scope: str) -> None:
    caller = caller_of_claims("ana", frozenset([scope]))

    assert caller.scopes == frozenset()
    assert caller.is_known


def test_a_token_whose_subject_is_empty_is_still_somebody() -> None:
    assert caller_of_claims("", frozenset()).is_known


def test_the_name_is_that_of_the_request_or_else_of_the_key() -> None:
    assert sole_name("producer", frozenset(["a"]), "b") == "b"
    assert sole_name("producer", frozenset(["a"]), "") == "a"
    for names in (frozenset[str](), frozenset(["a", "b"])):
        with pytest.raises(BadRequest, match="which producer"):
            sole_name("producer", names, "")


def test_nobody_known_is_unauthorized_and_somebody_known_is_forbidden() -> None:
    somebody = Caller(name="ana")

    refusals = [not_for(ANYBODY, "it"), not_for(somebody, "it")]

    assert [type(one) for one in refusals] == [Unauthorized, Forbidden]
    assert str(refusals[0]) == str(refusals[1])
    for caller, error in ((ANYBODY, Unauthorized), (somebody, Forbidden)):
        with pytest.raises(error):
            rules().require(caller, "read")


def test_on_an_open_hub_a_key_protects_only_its_owner() -> None:
    of_hub = rules(is_open=True, require_keys=True, keys=(("producer", "a"),))

    assert of_hub.may(ANYBODY, "admin")
    assert of_hub.may_create(ANYBODY)
    assert not of_hub.may_speak_for(ANYBODY, "producer", "a")
    assert of_hub.may_speak_for(ANYBODY, "subscriber", "a")
    assert of_hub.may_speak_for(ANYBODY, "producer", "b")


def ring_of(*kept: tuple[Secret, dict[str, Any]]) -> Keyring:
    """A ring with these keys of a producer."""
    ring = Keyring()
    ring.renew([KeptKey(Key(id=one.id, kind="producer", owner="ana", **more), one.hash) for one, more in kept])
    return ring


WRONG_SECRETS: dict[str, Callable[[Secret, str], str]] = {
    "cut": lambda key, other: key.text[:-1],
    "longer": lambda key, other: key.text + "A",
    "other case": lambda key, other: key.text.swapcase(),
    "another's secret": lambda key, other: f"pgn_{key.id}_{other}",
    "no secret": lambda key, other: f"pgn_{key.id}_",
    "only the id": lambda key, other: key.id,
    "unknown id": lambda key, other: key.text.replace(key.id, "0" * 12),
    "its hash": lambda key, other: f"pgn_{key.id}_{key.hash.hex()}",
    "a space": lambda key, other: f" {key.text}",
    "a null": lambda key, other: f"{key.text}\0",
    "another prefix": lambda key, other: key.text.replace("pgn_", "pgm_"),
    "half a letter": lambda key, other: f"pgn_{key.id}_\ud800",
    "too long": lambda key, other: f"{key.text}{'A' * BEARER_BYTES_MAX}",
    "no key": lambda key, other: "let me in",
    "a token of nobody": lambda key, other: "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbmEifQ.",
}


@pytest.mark.parametrize("what", list(WRONG_SECRETS))
def test_only_the_whole_key_is_the_key_and_no_answer_repeats_it(what: str) -> None:
    key, other = make_secret(), make_secret()
    ring = ring_of((key, {}), (other, {}))

    with pytest.raises(Unauthorized) as refused:
        ring.identify(WRONG_SECRETS[what](key, other.text.split("_", 2)[2]))

    assert ring.identify(key.text).key_id == key.id
    assert key.text[-20:] not in str(refused.value)
    assert key.id not in str(refused.value)


def test_no_answer_says_which_part_of_a_key_was_wrong() -> None:
    key, gone, old = make_secret(), make_secret(), make_secret()
    ring = ring_of((key, {}), (old, {"expires_us": 1}))
    answers = set()

    for presented in (key.text[:-1], f"pgn_{'0' * 12}_x", gone.text, old.text, "pgn_x", "nonsense"):
        with pytest.raises(Unauthorized) as refused:
            ring.identify(presented)
        answers.add(str(refused.value))

    assert len(answers) == 1


def test_nothing_presented_is_nobody_known() -> None:
    ring = ring_of((make_secret(), {}))

    assert ring.identify("") == ANYBODY
    assert not ANYBODY.is_known


def test_a_key_asks_no_more_often_than_it_may_and_a_wrong_secret_uses_up_nothing_of_its_rate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_ms = [0.0]
    monkeypatch.setattr("pregon.hub.keyring.monotonic_ms", lambda: now_ms[0])
    key, other = make_secret(), make_secret()
    ring = ring_of((key, {"requests_per_s": 3}), (other, {"requests_per_s": 1}))

    for _ in range(50):
        with pytest.raises(Unauthorized):
            ring.identify(f"pgn_{key.id}_guess")
    for _ in range(3):
        ring.identify(key.text)
    with pytest.raises(RateLimited, match="3 times a second") as limited:
        ring.identify(key.text)
    ring.identify(other.text)
    now_ms[0] = 334.0

    assert ring.identify(key.text).key_id == key.id
    assert limited.value.is_retryable


BAD_VALUES: list[dict[str, Any]] = [
    {"kind": "topic"},
    {"kind": ""},
    {"kind": "token"},
    {"kind": "token", "scopes": ("read", "everything")},
    {"kind": "token", "owner": "bad name", "scopes": ("read",)},
    {"kind": "token", "owner": "", "scopes": ("read",)},
    {"scopes": ("admin",)},
    {"label": "x" * (DESCRIPTION_CHARACTERS_MAX + 1)},
    {"requests_per_s": 0},
    {"requests_per_s": 1_000_001},
    {"body_bytes_max": 0},
    {"body_bytes_max": BODY_BYTES_MAX + 1},
    {"lifetime_ms": -1},
    {"lifetime_ms": NUMBER_MAX + 1},
    {"overlap_ms": -1},
    {"overlap_ms": NUMBER_MAX + 1},
]


@pytest.mark.parametrize("values", BAD_VALUES, ids=range(len(BAD_VALUES)))
def test_a_key_with_values_that_make_no_sense_is_refused_before_anything_is_queued(values: dict[str, Any]) -> None:
    with pytest.raises((BadRequest, BadName)):
        create_key(Keyring(), NewKey(**{"kind": "producer", "owner": "ana", **values}))


def test_no_two_keys_have_the_same_secret_or_id_and_each_is_found_among_many() -> None:
    made = [make_secret() for _ in range(2_000)]
    ring = ring_of(*((one, {}) for one in made))

    found = [ring.identify(one.text).key_id for one in made]

    assert found == [one.id for one in made]
    assert len(set(found)) == len({one.hash for one in made}) == len(made)
    assert all(len(one.text.split("_", 2)[2]) >= 43 for one in made), "256 bits in base64"
