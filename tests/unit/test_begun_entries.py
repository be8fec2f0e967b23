"""Entries that go on at an identity provider: whose they are, how often they are taken, how long they last."""

from __future__ import annotations

from pregon.edges.admin.begun import BEGUN_MAX, BEGUN_MS_MAX, Begun, BegunEntries


def begin(browser: str = "one", begun_ms: float = 0.0) -> Begun:
    return Begun(browser=browser, redirect_uri="https://hub.example/back", back="/admin", begun_ms=begun_ms)


def test_an_entry_is_taken_once_and_only_in_its_own_browser() -> None:
    entries, begun = BegunEntries(), begin("one")
    entries.keep(begun)

    by_others = [entries.take(begun.state, browser, 1.0) for browser in ("two", "", "öne")]
    taken = [entries.take(begun.state, "one", 1.0) for _ in range(2)]

    assert by_others == [None, None, None]
    assert taken == [begun, None]
    assert entries.take("", "one", 1.0) is None


def test_an_entry_grows_old() -> None:
    entries, fresh, old = BegunEntries(), begin(), begin()
    entries.keep(fresh)
    entries.keep(old)

    taken = [entries.take(fresh.state, "one", BEGUN_MS_MAX - 1), entries.take(old.state, "one", BEGUN_MS_MAX)]

    assert taken == [fresh, None]


def test_beyond_so_many_the_oldest_is_forgotten() -> None:
    entries = BegunEntries()
    begun = [begin() for _ in range(BEGUN_MAX + 1)]
    for one in begun:
        entries.keep(one)

    taken = [entries.take(one.state, "one", 1.0) for one in begun]

    assert taken == [None, *begun[1:]]


def test_no_two_entries_share_a_secret() -> None:
    one, other = begin(), begin()

    secrets = {one.state, one.nonce, one.verifier, other.state, other.nonce, other.verifier}

    assert len(secrets) == 6
    # RFC 7636 asks for 43 to 128 characters.
    assert {len(secret) for secret in secrets} == {43}
