"""Passwords: which one somebody may have, what is kept of it, and that comparing tells nothing else."""

from __future__ import annotations

import subprocess
import sys
import unicodedata

import pytest

from pregon.errors import BadRequest
from pregon.limits import PASSWORD_CHARACTERS_MAX, PASSWORD_CHARACTERS_MIN
from pregon.security import passwords
from pregon.security.passwords import Costs, check_password_rules, hash_password, is_password, needs_rehash

CHEAP = Costs(time=1, memory_kib=8, lanes=1)
GOOD = "agua quieta del Cerro"


@pytest.mark.parametrize(
    ("password", "words"),
    [
        ("", "10 to 200 characters"),
        ("x" * 9, "10 to 200 characters"),
        ("ab" * 101, "10 to 200 characters"),
        ("a" * 20, "one character repeated"),
        ("Ana.Fernandez", "not the name"),
        ("\ud800 lone surrogates", "cannot be written down"),
    ],
)
def test_a_password_that_may_not_be_is_refused_in_words_and_not_repeated(password: str, words: str) -> None:
    with pytest.raises(BadRequest, match=words) as refused:
        check_password_rules("ana.fernandez", password)

    assert not password or password not in str(refused.value)


@pytest.mark.parametrize(
    "password", ["ab" * (PASSWORD_CHARACTERS_MIN // 2), "ab" * (PASSWORD_CHARACTERS_MAX // 2), GOOD]
)
def test_a_password_within_the_rules_is_taken(password: str) -> None:
    check_password_rules("ana", password)

    assert is_password(hash_password(password, CHEAP), password, CHEAP)


def test_what_is_kept_is_argon2id_with_a_salt_of_its_own_and_not_the_password() -> None:
    first, second = hash_password(GOOD, CHEAP), hash_password(GOOD, CHEAP)

    assert first.startswith("$argon2id$v=19$m=8,t=1,p=1$")
    assert first != second
    assert GOOD not in first


def test_only_the_same_password_is_right() -> None:
    kept = hash_password(GOOD, CHEAP)

    answers = [is_password(kept, given, CHEAP) for given in (GOOD, GOOD + " ", GOOD[:-1], "", GOOD.upper(), "\ud800")]

    assert answers == [True, False, False, False, False, False]


def test_the_same_letters_are_the_same_password_however_they_are_composed() -> None:
    composed = unicodedata.normalize("NFC", "año de la señora")
    taken_apart = unicodedata.normalize("NFD", composed)

    kept = hash_password(taken_apart, CHEAP)

    assert composed != taken_apart
    assert is_password(kept, composed, CHEAP)


def test_a_password_longer_than_any_is_wrong_though_it_begins_right() -> None:
    longest = "ab" * (PASSWORD_CHARACTERS_MAX // 2)

    assert not is_password(hash_password(longest, CHEAP), longest + "c" * 1_000_000, CHEAP)


def test_nobody_has_no_password_and_what_is_no_hash_is_none() -> None:
    assert not is_password(None, "nobody", CHEAP)
    assert not is_password("no hash at all", GOOD, CHEAP)


def test_comparing_with_nobody_hashes_as_comparing_with_somebody_does(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = hash_password(GOOD, CHEAP)
    compared: list[str] = []
    hasher = type(passwords._hasher(CHEAP))
    verify = hasher.verify
    monkeypatch.setattr(hasher, "verify", lambda self, kept, given: compared.append(kept) or verify(self, kept, given))

    for one in (kept, None):
        is_password(one, "wrong password", CHEAP)

    assert compared[0] == kept != compared[1]
    assert [one.split("$")[3] for one in compared] == ["m=8,t=1,p=1"] * 2


def test_a_hash_with_other_costs_is_to_be_made_again() -> None:
    kept = hash_password(GOOD, CHEAP)

    assert not needs_rehash(kept, CHEAP)
    assert needs_rehash(kept, Costs(time=2, memory_kib=8, lanes=1))
    assert needs_rehash(kept)


def test_commands_start_without_argon2() -> None:
    loaded = "import sys, pregon.cli, pregon.hub.gate; print('argon2' in sys.modules)"

    said = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)

    assert said.stdout == "False\n"
