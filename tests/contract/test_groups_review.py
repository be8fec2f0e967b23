"""Groups in bad weather: what a message depends on when the log was cut, what memory keeps, and what may be sent."""

import pytest
from sqlalchemy import text

from pregon.causal.stamps import Stamp
from pregon.clock import INSTANT_US_MAX
from pregon.errors import BadName, BadRequest, NotAMember, TooLarge
from pregon.groups import roll, rolls, tails, window
from pregon.groups.window import Record, Window
from pregon.hub.hub import Hub
from pregon.model.batch import StoredBatch
from pregon.model.group import INVITED, NATIVE
from pregon.security.callers import ANYBODY, Caller, scopes_of
from pregon.store.change import Change
from pregon.store.log import remove_through
from pregon.store.transaction import Transaction
from pregon.wire.groups import Join, Send

from .group_stage import GROUP, Native, Stage, again, kind_of
from .site import Clock, Site, one_commit, settle

ADMINISTRATOR = Caller(name="token root", scopes=scopes_of(("admin",)))


# What a message depends on.


def test_a_log_that_was_cut_does_not_make_a_message_depend_on_what_its_sender_has_not_seen(
    stage: Stage, site: Site
) -> None:
    for name in ("ana", "luis"):
        stage.join(name)
    seen = stage.send("luis", "uno").seq
    for _ in range(3):
        stage.send("luis", "dos")
    head = stage.head("ana")
    later = again(stage, site)
    site.hub.submit(_removing_through("groups.design", head)).result()
    later.desk.rolls.forget()

    with pytest.raises(BadRequest, match="read what is new"):
        later.send("ana", "hola", seen_seq=seen)
    told = later.send("ana", "hola", seen_seq=head)

    assert told.after == "3:5"
    later.desk.stop()


def _removing_through(topic: str, seq: int) -> Change[None]:
    def change(transaction: Transaction) -> None:
        found = transaction.connection.execute(text("SELECT id FROM topic WHERE name = :name"), {"name": topic})
        remove_through(transaction.connection, found.scalar_one(), seq, 0)

    return Change(change)


def test_a_message_names_a_member_once_even_when_an_old_one_is_named_late() -> None:
    kept = Window(records_max=4)
    for seq, (stamp, after) in enumerate(
        [
            (Stamp(3, 1), ()),
            (Stamp(3, 2), ()),
            (Stamp(3, 3), ()),
            (Stamp(4, 1), ()),
            (Stamp(4, 2), ()),
            (Stamp(4, 3), ()),
            # Who was away for long says what it had written then.
            (Stamp(5, 1), (Stamp(3, 1),)),
        ],
        start=1,
    ):
        kept.add(Record(seq, stamp, after))

    assert kept.after(2, 6, 0) == (Stamp(3, 3), Stamp(4, 3))


def test_what_the_window_keeps_is_bounded_in_dependencies_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "_NAMED_MAX", 100)
    kept = Window()
    for seq in range(1, 101):
        kept.add(Record(seq, Stamp(seq, 1), tuple(Stamp(1_000 + one, seq) for one in range(10))))

    assert kept.first_seq >= 90
    assert len(kept.frontier_at(100)) == 100


def test_a_state_of_another_member_is_refused_and_the_member_stays(stage: Stage) -> None:
    old = Native(stage, "luis")
    new = Native(stage, "luis")

    with pytest.raises(NotAMember):
        stage.join("luis", kind=NATIVE, member=old.member.me, number=1)

    assert new.send("sigo").stamp == f"{new.member.me}:2"


def test_a_member_that_was_hosted_meanwhile_goes_on_with_its_state_if_nothing_was_sent(stage: Stage) -> None:
    luis = Native(stage, "luis")
    stage.join("luis")

    back = stage.join("luis", kind=NATIVE, member=luis.member.me, number=1)
    sent = luis.send("uno")
    stage.join("luis")
    stage.send("luis", "dos")

    assert (back.member, back.is_back) == (luis.member.me, True)
    assert sent.stamp == f"{luis.member.me}:2"
    with pytest.raises(BadRequest, match="too old"):
        stage.join("luis", kind=NATIVE, member=luis.member.me, number=2)


def test_more_than_a_batch_of_records_in_one_commit_leaves_the_rows_as_the_roll_has_them(
    stage: Stage, hub: Hub, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.make("breve", history=False)
    stage.join("ana", "breve")
    stage.enroll("luis")
    monkeypatch.setattr(rolls, "BATCH_MESSAGES_MAX", 1)

    with one_commit(hub):
        stage.desk.send(ANYBODY, Send(group="breve", token=stage.tokens["ana"]), b"antes")
        stage.desk.join(ANYBODY, Join(group="breve", token=stage.tokens["luis"], kind=NATIVE))
        last = stage.desk.send(ANYBODY, Send(group="breve", token=stage.tokens["ana"], seen_seq=3), b"despues")
    last.result()
    later = again(stage, site)

    assert [kind_of(one) for one in later.read("luis", group="breve")] == ["joining", "message"]
    assert later.send("ana", "x", "breve").after == ""
    later.desk.stop()


def test_members_that_left_long_ago_are_not_kept(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roll, "MEMBERS_LEFT_BEHIND", 10)
    stage.join("ana")
    for _ in range(20):
        stage.join("luis")
        stage.leave("luis")

    joined = stage.join("luis")

    assert joined.member == 23
    assert len(joined.clock) < 10
    assert joined.highest == 23


def test_rolls_that_are_only_looked_at_are_let_go(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rolls, "_ROLLS_MAX", 3)
    stage.enroll("ana")
    for number in range(8):
        stage.make(f"g{number}")

    for number in range(8):
        with pytest.raises(NotAMember):
            stage.send("ana", "x", f"g{number}")

    assert len(stage.desk.rolls._rolls) <= 4


def test_a_tail_keeps_no_batch_that_is_too_large_for_it() -> None:
    kept = tails.Tails()
    kept.add("t", 1, StoredBatch(1, 1, b"x"))
    kept.add("t", 1, StoredBatch(2, 1, b"x" * (tails._TAIL_BYTES_MAX + 1)))
    assert kept.find("t", 1, 10, 10**9) is None

    kept.add("t", 1, StoredBatch(3, 1, b"y"))
    assert kept.find("t", 1, 10, 10**9) is None
    found = kept.find("t", 2, 10, 10**9)
    assert found is not None and [one.base_seq for one in found.batches] == [3]


def test_what_retention_removed_is_not_read_from_memory(clock: Clock, stage: Stage, hub: Hub) -> None:
    stage.join("ana")
    stage.send("ana", "vieja")
    head = stage.head("ana")
    hub.update("topic", (f"groups.{GROUP}",), {"retention": {"age_ms": 1_000}}).result()
    clock.move_ms(5_000)

    hub.maintenance.run_once()

    assert stage.read("ana", head - 1) == []


# What may be sent.


@pytest.mark.parametrize("published_us", [-1, INSTANT_US_MAX + 1, 2**63 - 1])
def test_a_time_that_is_none_is_refused(stage: Stage, published_us: int) -> None:
    stage.join("ana")

    with pytest.raises(BadRequest, match="microseconds"):
        stage.send("ana", "hola", published_us=published_us)


def test_a_key_that_may_send_little_sends_little_to_groups_too(stage: Stage) -> None:
    caller = Caller(name="producer dnic", body_bytes_max=10)
    token = stage.desk.enroll(caller, "ana").result().token
    stage.desk.join(caller, Join(group=GROUP, token=token)).result()

    with pytest.raises(TooLarge):
        stage.desk.send(caller, Send(group=GROUP, token=token), b"x" * 11)
    assert stage.desk.send(caller, Send(group=GROUP, token=token), b"x" * 10).result().seq


def test_nobody_is_called_like_a_key(stage: Stage) -> None:
    stage.make("directorio", access=INVITED, allowed=("producer dnic",))

    for name in ("producer dnic", "Producer dnic", "subscriber bps", "TOKEN root"):
        with pytest.raises(BadName):
            stage.desk.enroll(ANYBODY, name).result()
    stage.join("ana")
    with pytest.raises(BadName):
        stage.desk.rename(ANYBODY, stage.tokens["ana"], "producer dnic").result()
    token = stage.desk.enroll(Caller(name="producer dnic"), "luis").result().token
    joined = stage.desk.join(Caller(name="producer dnic"), Join(group="directorio", token=token)).result()
    assert joined.member == 2


def test_what_was_seen_counts_after_somebody_was_renamed(stage: Stage, hub: Hub) -> None:
    for name in ("ana", "luis", "eva"):
        stage.join(name)
    first = stage.send("ana", "uno")
    stage.desk.rename(ANYBODY, stage.tokens["eva"], "Evita").result()
    stage.desk._people.forget()

    stage.desk.seen(ANYBODY, stage.tokens["luis"], GROUP, first.seq)
    settle(hub)

    assert first.stamp in stage.send("luis", "dos").after
