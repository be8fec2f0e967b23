"""Groups on a hub's store: who may join and send, what depends on what, and that all of it is there after a restart."""

import pytest

from pregon.causal.message import CausalMessage
from pregon.causal.stamps import Stamp
from pregon.errors import (
    BadRequest,
    Forbidden,
    NotAMember,
    OutOfTurn,
    PregonError,
    Unauthorized,
)
from pregon.model.group import INVITED
from pregon.security.callers import ANYBODY, Caller

from .group_stage import GROUP, Native, Stage, after_of, kind_of, stamp_of
from .site import Site


def test_joining_is_announced_and_then_said_by_the_member(stage: Stage) -> None:
    joined = stage.join("ana")

    said = stage.read("ana")
    assert [(kind_of(one), str(stamp_of(one)), one.key) for one in said] == [
        ("joining", "1:1", "pregon"),
        ("joined", "2:1", "ana"),
    ]
    assert after_of(said[1]) == (Stamp(1, 1),)
    assert (joined.member, joined.seq, joined.clock) == (2, 2, {1: 1, 2: 1})


def test_a_hosted_message_depends_on_what_its_sender_has_seen(stage: Stage) -> None:
    for name in ("ana", "luis", "eva"):
        stage.join(name)
    head = stage.head("ana")

    first = stage.send("ana", "a", seen_seq=head)
    beside = stage.send("luis", "b", seen_seq=head)
    answer = stage.send("eva", "c", seen_seq=first.seq)
    last = stage.send("ana", "d", seen_seq=answer.seq)

    assert first.after == beside.after == "4:1"
    assert answer.after == first.stamp
    assert last.after == f"{beside.stamp} {answer.stamp}"
    relation = stage.desk.relation
    assert relation(ANYBODY, GROUP, first.stamp, beside.stamp).result() == "concurrent"
    assert relation(ANYBODY, GROUP, first.stamp, answer.stamp).result() == "before"
    assert relation(ANYBODY, GROUP, last.stamp, beside.stamp).result() == "after"


def test_who_has_seen_nothing_new_depends_on_nothing_new(stage: Stage) -> None:
    stage.join("ana")
    stage.join("luis")
    stage.send("ana", "a", seen_seq=stage.head("ana"))

    assert stage.send("ana", "b").after == ""
    assert stage.send("luis", "c").after == ""


def test_a_hosted_message_sent_again_is_stored_once(stage: Stage, site: Site) -> None:
    stage.join("ana")
    first = stage.send("ana", "hola", id="one")

    again = stage.send("ana", "hola", id="one")
    stage.desk.stop()
    later = Stage.on(site.restart())
    later.tokens = stage.tokens
    after_restart = later.send("ana", "hola", id="one")
    later.desk.stop()

    assert (again.seq, again.stamp, again.duplicate) == (first.seq, first.stamp, True)
    assert (after_restart.seq, after_restart.stamp, after_restart.duplicate) == (first.seq, first.stamp, True)


def test_native_and_hosted_members_see_the_same_order(stage: Stage) -> None:
    stage.join("ana")
    luis, eva = Native(stage, "luis"), Native(stage, "eva")
    stage.send("ana", "uno", seen_seq=stage.head("ana"))
    luis.read()
    luis.send("dos")
    eva.send("tres")

    shown = [delivery.message.body for delivery in eva.read()]
    head = stage.head("ana")
    last = stage.send("ana", "cuatro", seen_seq=head)

    assert shown == [b"uno", b"dos"]
    assert last.after == f"{luis.member.me}:2 {eva.member.me}:2"


def test_a_native_message_in_its_turn_is_stored_once(stage: Stage) -> None:
    luis = Native(stage, "luis")
    message = luis.member.broadcast()
    first = luis.send_control(message, "uno")

    again = luis.send_control(message, "uno")

    assert (again.seq, again.duplicate) == (first.seq, True)
    assert [one.body for one in stage.read("luis", first.seq - 1)] == [b"uno"]


@pytest.mark.parametrize(
    ("stamp", "after", "error"),
    [
        (Stamp(2, 3), (), OutOfTurn),
        (Stamp(2, 10**15), (), OutOfTurn),
        (Stamp(3, 2), (), BadRequest),
        (Stamp(1, 2), (), BadRequest),
        (Stamp(2, 2), (Stamp(1, 99),), BadRequest),
        (Stamp(2, 2), (Stamp(77, 1),), BadRequest),
        (Stamp(2, 2), (Stamp(2, 1),), BadRequest),
    ],
)
def test_control_information_that_cannot_be_is_refused_and_changes_nothing(
    stage: Stage, stamp: Stamp, after: tuple[Stamp, ...], error: type[PregonError]
) -> None:
    luis = Native(stage, "luis")
    stage.join("ana")
    before = stage.head("luis")

    with pytest.raises(error):
        luis.send_control(CausalMessage(stamp, after), "mal")

    assert stage.head("luis") == before
    assert luis.send("bien").seq == before + 1


def test_bytes_that_are_no_control_information_are_refused(stage: Stage) -> None:
    Native(stage, "luis")

    for control in (b"\x00", b"\xff\x01", b"\x00\x02\x02\x00\x00", b"\x01\x02\x02\x00"):
        with pytest.raises(BadRequest):
            stage.send("luis", "", control=control)


def test_only_the_owner_of_a_token_sends(stage: Stage) -> None:
    stage.join("ana")

    for token in ("", "ppt_1_wrong", stage.tokens["ana"] + "x", "ppt_99_" + "a" * 43, "x" * 100_000):
        stage.tokens["mallory"] = token
        with pytest.raises(Unauthorized):
            stage.send("mallory", "soy ana")


def test_a_token_of_who_has_a_key_needs_that_key(stage: Stage) -> None:
    token = stage.desk.enroll(Caller(name="dnic"), "ana").result().token
    stage.tokens["ana"] = token

    with pytest.raises(Unauthorized):
        stage.join("ana")


def test_who_is_not_a_member_neither_sends_nor_reads(stage: Stage) -> None:
    stage.enroll("ana")

    with pytest.raises(NotAMember):
        stage.send("ana", "hola")
    with pytest.raises(NotAMember):
        stage.read("ana")


def test_a_group_by_invitation_is_for_who_is_invited(stage: Stage) -> None:
    stage.make("directorio", access=INVITED, allowed=("Ana",))

    assert stage.join("ana", "directorio").member == 2
    with pytest.raises(Forbidden):
        stage.join("luis", "directorio")


def test_without_history_a_new_member_reads_from_its_joining_on(stage: Stage) -> None:
    stage.make("efimero", history=False)
    stage.join("ana", "efimero")
    stage.send("ana", "antes", "efimero")
    stage.join("luis", "efimero")

    assert [kind_of(one) for one in stage.read("luis", group="efimero")] == ["joining", "joined"]
