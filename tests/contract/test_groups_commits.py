"""Groups when several changes share a commit, and when a commit fails."""

import pytest

from pregon.errors import NotFound, PregonError
from pregon.groups import rolls
from pregon.hub.hub import Hub
from pregon.model.group import Group
from pregon.security.callers import ANYBODY, Caller, scopes_of
from pregon.store.ticket import Ticket
from pregon.store.transaction import Transaction
from pregon.wire.groups import Join, Leave, Read, Send

from .group_stage import GROUP, Stage
from .site import one_commit

ADMINISTRATOR = Caller(name="token root", scopes=scopes_of(("admin",)))


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
