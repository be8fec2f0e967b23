"""Entries that go on at an identity provider: whose they are, how often they are taken, how long they last."""

from __future__ import annotations

import pytest

from pregon.edges.admin.begun import BEGUN_MS_MAX, TAKEN_MAX, WANTED_MAX, Begun, BegunEntries

BACK = "https://hub.example/back"


def begin(entries: BegunEntries, browser: str = "one", now_ms: float = 0.0) -> Begun:
    return entries.begin(browser, BACK, "/admin/topics", now_ms)


def test_an_entry_is_taken_once_and_only_in_its_own_browser() -> None:
    entries = BegunEntries()
    begun = begin(entries)

    by_others = [entries.take(begun.state, browser, 1.0) for browser in ("two", "", "öne")]
    taken = [entries.take(begun.state, "one", 1.0) for _ in range(2)]

    assert by_others == [None, None, None]
    assert taken == [begun, None]
    assert (begun.redirect_uri, begun.back) == (BACK, "/admin/topics")


@pytest.mark.parametrize("state", ["", ".", "x", "x.y", "ñ.ñ", "W10.", "x" * 10_000])
def test_what_was_not_begun_here_is_no_entry(state: str) -> None:
    assert BegunEntries().take(state, "one", 1.0) is None


def test_a_state_that_was_changed_or_is_of_another_process_is_no_entry() -> None:
    entries = BegunEntries()
    state = begin(entries).state
    told, _, seal = state.partition(".")
    later = begin(entries, now_ms=5.0).state.partition(".")[0]

    assert [entries.take(one, "one", 1.0) for one in (f"{later}.{seal}", f"{told}.{seal}x", told, f"{told}.")] == [
        None
    ] * 4
    assert BegunEntries().take(state, "one", 1.0) is None
    assert entries.take(state, "one", 1.0) is not None


def test_an_entry_grows_old() -> None:
    entries = BegunEntries()
    fresh, old = begin(entries), begin(entries)

    taken = [entries.take(fresh.state, "one", BEGUN_MS_MAX - 1), entries.take(old.state, "one", BEGUN_MS_MAX)]

    assert taken == [fresh, None]


def test_however_many_others_begin_an_entry_stays_and_only_its_page_is_forgotten() -> None:
    entries = BegunEntries()
    begun = begin(entries, "mine")
    for _ in range(WANTED_MAX):
        begin(entries, "theirs")

    taken = entries.take(begun.state, "mine", 1.0)

    assert taken == begun._replace(back="/admin")
    assert len(entries._wanted) == WANTED_MAX


def test_of_entries_that_were_taken_so_many_are_remembered() -> None:
    entries = BegunEntries()

    for _ in range(TAKEN_MAX + 5):
        assert entries.take(begin(entries).state, "one", 1.0)

    assert len(entries._taken) == TAKEN_MAX
    assert len(entries._wanted) == 0


def test_no_two_entries_share_a_secret() -> None:
    entries = BegunEntries()
    one, other = begin(entries), begin(entries)

    secrets = {one.nonce, one.verifier, other.nonce, other.verifier}

    assert len(secrets | {one.state, other.state}) == 6
    # RFC 7636 asks for 43 to 128 characters.
    assert {len(secret) for secret in secrets} == {43}
