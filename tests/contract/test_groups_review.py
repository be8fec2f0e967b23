"""Groups in bad weather: several changes in one commit, commits that fail, logs that were cut, and curious callers."""

from collections.abc import Iterator

import pytest
from sqlalchemy import text

from pregon.causal.message import CausalMessage
from pregon.causal.stamps import Stamp
from pregon.clock import INSTANT_US_MAX
from pregon.errors import BadName, BadRequest, Forbidden, LimitReached, NotAMember, NotFound, PregonError, TooLarge
from pregon.groups import membership, roll, rolls, tails, window
from pregon.groups.window import Record, Window
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.model.batch import StoredBatch
from pregon.model.catalog import Subscriber, Subscription
from pregon.model.group import DELIVERIES_TOPIC, INVITED, NATIVE, DeliveryRow, Group
from pregon.model.trace import TraceQuery
from pregon.security.callers import ANYBODY, Caller, scopes_of
from pregon.store.log import remove_through
from pregon.store.ticket import Ticket
from pregon.store.transaction import Transaction
from pregon.wire.groups import Join, Leave, Private, Read, Report, Send

from .group_stage import GROUP, Native, Stage, kind_of
from .site import Site, one_commit, settle
from .verbs import read

ADMINISTRATOR = Caller(name="token root", scopes=scopes_of(("admin",)))


@pytest.fixture
def stage(hub: Hub) -> Iterator[Stage]:
    """A desk with an open group."""
    set_up = Stage.on(hub)
    set_up.make()
    yield set_up
    set_up.desk.stop()


def again(stage: Stage, site: Site, options: HubOptions | None = None) -> Stage:
    """The same people at a hub that was started anew."""
    stage.desk.stop()
    later = Stage.on(site.restart(options))
    later.tokens = stage.tokens
    return later


class Broken:
    """An operation with a bug that shows when everything else in its commit has been carried out."""

    size_bytes = 1
    is_durable = True

    def __init__(self) -> None:
        self.ticket: Ticket[None] = Ticket()

    def apply(self, transaction: Transaction) -> None:
        """Break later."""
        transaction.finish_with(self._fail)

    def _fail(self, _transaction: Transaction) -> None:
        raise ZeroDivisionError


# Several changes in one commit.


def test_who_is_renamed_and_joins_in_one_commit_joins_by_its_new_name(stage: Stage, hub: Hub) -> None:
    stage.make("otra")
    token = stage.enroll("ana")
    stage.join("ana")

    with one_commit(hub):
        stage.desk.rename(ANYBODY, token, "Anita")
        joined = stage.desk.join(ANYBODY, Join(group="otra", token=token))
        renamed = stage.desk.rename(ANYBODY, token, "Ani")

    assert [one.name for one in joined.result().members] == ["Anita"]
    assert renamed.result().name == "Ani"
    assert b'"old":"Anita"' in stage.read("ana", group="otra")[-1].body


def test_who_retires_and_joins_in_one_commit_is_nobody(stage: Stage, hub: Hub) -> None:
    stage.make("otra")
    token = stage.enroll("ana")
    stage.join("ana")
    commits = hub.committer.commits

    with one_commit(hub):
        stage.desk.retire(ANYBODY, token)
        joined = stage.desk.join(ANYBODY, Join(group="otra", token=token))

    with pytest.raises(PregonError, match="enroll"):
        joined.result()
    # What it asked was refused in its turn: nobody's transaction was undone for it.
    assert hub.committer.commits <= commits + 2


def test_members_are_told_however_many_groups_a_commit_joins(
    stage: Stage, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rolls, "_ROLLS_MAX", 2)
    names = [f"g{number}" for number in range(5)]
    for name in names:
        stage.make(name)
    token = stage.enroll("ana")

    with one_commit(hub):
        joining = [stage.desk.join(ANYBODY, Join(group=name, token=token)) for name in names]

    assert [[one.name for one in ticket.result().members] for ticket in joining] == [["ana"]] * 5


def test_a_group_deleted_and_made_again_in_one_commit_has_only_the_new_messages(stage: Stage, hub: Hub) -> None:
    stage.join("ana")
    stage.head("ana")
    token = stage.tokens["ana"]

    with one_commit(hub):
        stage.desk.send(ANYBODY, Send(group=GROUP, token=token), b"vieja")
        deleted = stage.desk.delete_group(ANYBODY, GROUP)
        made = stage.desk.create_group(ANYBODY, Group(name=GROUP))
        joined = stage.desk.join(ANYBODY, Join(group=GROUP, token=token))
        sent = stage.desk.send(ANYBODY, Send(group=GROUP, token=token, seen_seq=2), b"nueva")

    assert deleted.result() and made.result().name == GROUP
    assert (joined.result().member, sent.result().seq, sent.result().stamp) == (2, 3, "2:2")
    assert [one.body for one in stage.read("ana")][-1] == b"nueva"
    assert len(stage.read("ana")) == 3


def test_who_waits_for_a_message_of_a_group_that_is_deleted_is_told(stage: Stage) -> None:
    stage.join("ana")
    head = stage.head("ana")
    waiting = stage.desk.read(ANYBODY, Read(group=GROUP, token=stage.tokens["ana"], after_seq=head, wait_ms=30_000))

    stage.desk.delete_group(ANYBODY, GROUP).result()

    with pytest.raises(NotFound):
        waiting.result()


# Commits that fail.


def test_what_was_undone_is_forgotten_and_done_again_once(stage: Stage, hub: Hub) -> None:
    stage.join("ana")
    stage.join("luis")
    head, broken = stage.head("ana"), Broken()
    token = stage.tokens["ana"]

    with one_commit(hub):
        sent = [
            stage.desk.send(ANYBODY, Send(group=GROUP, token=token, id=str(number), seen_seq=head), b"x")
            for number in (1, 2, 1)
        ]
        hub.committer.submit(broken)
        left = stage.desk.leave(ANYBODY, Leave(group=GROUP, token=stage.tokens["luis"]))

    assert [ticket.result().seq for ticket in sent] == [head + 1, head + 2, head + 1]
    assert left.result().seq == head + 3
    assert [str(one.seq) for one in stage.read("ana", head)] == [str(head + number) for number in (1, 2, 3)]


def test_a_name_that_was_undone_is_not_remembered(stage: Stage, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    token = stage.enroll("ana")
    stage.desk._people.forget()

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(hub.database, "commit", fail)
        with one_commit(hub):
            renamed = stage.desk.rename(ANYBODY, token, "Eva")
            joined = stage.desk.join(ANYBODY, Join(group=GROUP, token=token))
        for ticket in (renamed, joined):
            with pytest.raises(PregonError):
                ticket.result()

    assert [one.name for one in stage.join("ana").members] == ["ana"]


def test_a_token_of_an_enrolment_that_was_undone_opens_nobody_elses(
    stage: Stage, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "m" * 40
    guessed = f"ppt_1_{secret}"

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(hub.database, "commit", fail)
        with one_commit(hub):
            enrolled = stage.desk.enroll(ANYBODY, "mallory", secret)
            joined = stage.desk.join(ANYBODY, Join(group=GROUP, token=guessed))
        for ticket in (enrolled, joined):
            with pytest.raises(PregonError):
                ticket.result()
    assert stage.enroll("ana").startswith("ppt_1_")
    stage.tokens["mallory"] = guessed

    with pytest.raises(PregonError, match="enroll"):
        stage.join("mallory")


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


def _removing_through(topic: str, seq: int) -> object:
    from pregon.store.change import Change

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


# Web services.


def pushed_to(hub: Hub, name: str = "svc") -> None:
    """A subscriber with an endpoint that nobody calls in these tests."""
    hub.create(Subscriber(name=name, mode="push", endpoint="http://127.0.0.1:9/")).result()


def subscriptions(hub: Hub) -> list[tuple[str, str]]:
    """Who is subscribed to what."""
    return [(one.topic, one.subscriber) for one in hub.list("subscription").result()]  # type: ignore[union-attr]


@pytest.fixture
def open_site(site: Site) -> Iterator[Stage]:
    """A hub that may push to this machine."""
    made = Stage.on(site.restart(HubOptions(push_allow="127.0.0.1/32")))
    made.make()
    pushed_to(site.hub)
    yield made
    made.desk.stop()


@pytest.mark.parametrize("how", ["leave", "retire", "remove", "left"])
def test_nothing_is_pushed_to_who_is_out(open_site: Stage, site: Site, how: str) -> None:
    stage = open_site
    joined = stage.join("ana", subscriber="svc")
    assert subscriptions(site.hub) == [("groups.design", "svc")]

    if how == "leave":
        stage.leave("ana")
    elif how == "retire":
        stage.desk.retire(ANYBODY, stage.tokens["ana"]).result()
    elif how == "remove":
        stage.desk.remove_member(ANYBODY, GROUP, joined.member).result()
    else:
        native = Native.__new__(Native)
        taken = stage.join("ana", kind=NATIVE)
        native._stage, native._group, native.name = stage, GROUP, "ana"
        native.send_control(CausalMessage(Stamp(taken.member, taken.number + 1)), "{}", "left")

    assert subscriptions(site.hub) == []


def test_a_subscriber_of_two_members_is_served_until_both_are_out(open_site: Stage, site: Site) -> None:
    stage = open_site
    stage.join("ana", subscriber="svc")
    stage.join("luis", subscriber="svc")

    stage.leave("ana")
    assert subscriptions(site.hub) == [("groups.design", "svc")]
    stage.leave("luis")
    assert subscriptions(site.hub) == []


# What is private.


def private(stage: Stage, one: str = "ana", other: str = "luis") -> str:
    """The conversation of two."""
    stage.enroll(one)
    stage.enroll(other)
    return stage.desk.private(ANYBODY, Private(token=stage.tokens[one], with_=other)).result().group


def test_who_takes_the_name_of_one_of_the_two_does_not_get_in(stage: Stage) -> None:
    group = private(stage)
    stage.send("ana", "secreto", group)
    stage.desk.rename(ANYBODY, stage.tokens["ana"], "Anita").result()
    stage.tokens["mallory"] = stage.desk.enroll(ANYBODY, "ana").result().token

    with pytest.raises(Forbidden):
        stage.join("mallory", group)
    stage.leave("ana", group)

    assert stage.join("ana", group).member


def test_a_private_conversation_is_not_changed_by_others(stage: Stage) -> None:
    group = private(stage)

    for change in (
        lambda caller: stage.desk.update_group(caller, group, {"access": "open"}),
        lambda caller: stage.desk.remove_member(caller, group, 2),
        lambda caller: stage.desk.delete_group(caller, group),
    ):
        with pytest.raises(NotFound):
            change(ANYBODY).result()
    assert stage.desk.delete_group(ADMINISTRATOR, group).result()


def test_a_private_conversation_is_seen_by_no_other_door(stage: Stage, hub: Hub) -> None:
    group = private(stage)
    topic, gate = f"groups.{group}", Gate(hub)
    hub.create(Subscriber(name="curioso")).result()
    hub.create(Subscription(topic=topic, subscriber="curioso")).result()

    for ask in (
        lambda: gate.create(ANYBODY, Subscription(topic=topic, subscriber="otro")),
        lambda: gate.update(ANYBODY, "topic", (topic,), {"description": "x"}),
        lambda: gate.update(ANYBODY, "subscription", (topic, "curioso"), {"filter": ""}),
        lambda: gate.delete(ANYBODY, "subscription", (topic, "curioso")),
        lambda: gate.show(ANYBODY, "topic", (topic,)),
        lambda: gate.show(ANYBODY, "subscription", (topic, "curioso")),
        lambda: gate.list(ANYBODY, "subscription", names=(topic,)),
        lambda: gate.traces(ANYBODY, TraceQuery(topic=topic)),
        lambda: gate.push_state(ANYBODY, topic, "curioso"),
        lambda: gate.list_schemas(ANYBODY, topic),
    ):
        with pytest.raises(Forbidden):
            ask().result()
    assert all(one.topic != topic for one in gate.traces(ANYBODY, TraceQuery()).result())
    assert all(one.topic != topic for one in gate.list(ANYBODY, "subscription").result())
    assert any(one.topic == topic for one in gate.traces(ADMINISTRATOR, TraceQuery()).result())
    assert gate.show(ADMINISTRATOR, "topic", (topic,)).result()


def test_pages_of_topics_go_on_behind_the_private_ones(stage: Stage, hub: Hub) -> None:
    gate = Gate(hub)
    for number in range(4):
        private(stage, "ana", f"luis{number}")
    stage.make("zeta")
    stage.make("alfa")

    found: list[str] = []
    while page := gate.list(ANYBODY, "topic", after=(found[-1],) if found else (), rows_max=2).result():
        found += [one.name for one in page]  # type: ignore[union-attr]

    assert found == ["groups.alfa", "groups.design", "groups.zeta"]
    assert len(gate.list(ADMINISTRATOR, "topic").result()) == 7
    assert gate.list(ANYBODY, "topic", names=("groups.alfa",)).result()


def test_what_the_two_were_shown_is_in_no_topic(stage: Stage, hub: Hub) -> None:
    group = private(stage)

    rows = [DeliveryRow("1:1", 10, 20, "")]
    count = stage.desk.report(ANYBODY, Report(group=group, token=stage.tokens["ana"], rows=rows)).result()

    assert count == 0
    with pytest.raises(NotFound):
        hub.read_log(DELIVERIES_TOPIC, 1, None, 10, 1_000).result()


def test_nobody_is_drawn_into_more_conversations_than_one_may_have(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(membership, "GROUPS_OF_PARTICIPANT_MAX", 2)
    first = private(stage, "ana", "luis")
    private(stage, "ana", "eva")

    with pytest.raises(LimitReached):
        private(stage, "ana", "noe")
    with pytest.raises(LimitReached):
        private(stage, "zoe", "ana")

    assert private(stage, "luis", "ana") == first
    assert len(stage.desk.list_groups(ADMINISTRATOR).result()) == 3


# Topics that groups need.


def test_a_topic_that_somebody_subscribed_to_before_there_was_a_group_becomes_its_own(stage: Stage, hub: Hub) -> None:
    gate = Gate(hub)
    gate.create(ANYBODY, Subscription(topic="groups.nueva", subscriber="temprano")).result()

    stage.make("nueva")
    stage.join("ana", "nueva")

    assert [kind_of(one) for one in stage.read("ana", group="nueva")] == ["joining", "joined"]
    assert gate.show(ANYBODY, "topic", ("groups.nueva",)).result().restricted  # type: ignore[union-attr]


def test_reports_are_kept_in_a_hub_that_makes_nothing_on_first_use(stage: Stage, site: Site) -> None:
    stage.join("ana")
    later = again(stage, site, HubOptions(auto_create=False))
    report = Report(group=GROUP, token=stage.tokens["ana"], rows=[DeliveryRow("1:1", 10, 20, "")])

    assert later.desk.report(ANYBODY, report).result() == 1
    assert site.hub.delete("topic", (DELIVERIES_TOPIC,)).result()
    assert later.desk.report(ANYBODY, report).result() == 1

    assert len(read(site.hub, DELIVERIES_TOPIC)) == 1
    later.desk.stop()


def test_the_topic_of_reports_has_its_retention_when_it_is_made_again(stage: Stage, hub: Hub) -> None:
    stage.join("ana")
    report = Report(group=GROUP, token=stage.tokens["ana"], rows=[DeliveryRow("1:1", 10, 20, "")])
    stage.desk.report(ANYBODY, report).result()
    before = hub.show("topic", (DELIVERIES_TOPIC,)).result()

    hub.delete("topic", (DELIVERIES_TOPIC,)).result()
    stage.desk.report(ANYBODY, report).result()

    assert hub.show("topic", (DELIVERIES_TOPIC,)).result().retention == before.retention  # type: ignore[union-attr]
