"""A member's own messages until the hub has them: in order, each once, and what becomes of one that is refused."""

from __future__ import annotations

import pytest

from pregon.causal.stamps import Stamp
from pregon.client.groups.joining import Wish, drive, joining, wish_for
from pregon.client.groups.reports import GATHERED_MAX, REPORT_EVERY_MS, Reports
from pregon.client.groups.sending import JSON_CONTENT_TYPE, SENDING_BYTES_MAX, SENDING_MAX, as_words
from pregon.errors import BadName, BadRequest, Forbidden, PregonError, QueueFull, Rejected, TooLarge, Unauthorized
from pregon.limits import BODY_BYTES_MAX, GROUP_REPORT_ROWS_MAX
from pregon.model.group import DeliveryRow
from pregon.wire import groups as g

from .group_hub import GROUP, FakeHub
from .group_members import Actor, texts


@pytest.fixture
def hub() -> FakeHub:
    return FakeHub()


@pytest.fixture
def ana(hub: FakeHub) -> Actor:
    actor = Actor([hub], "ana")
    actor.send()
    return actor


def bodies(hub: FakeHub) -> list[str]:
    """What the messages of the log say."""
    return [one.body.decode() for one in hub.log if one.headers["group-kind"] == "message"]


def test_the_first_message_of_a_member_says_that_it_joined(hub: FakeHub, ana: Actor) -> None:
    assert [one.headers["group-kind"] for one in hub.log] == ["joining", "joined"]
    assert hub.log[1].headers["group-stamp"] == f"{ana.talk.me}:1"
    assert hub.log[1].headers["group-after"] == "1:1"


def test_several_go_at_once_and_are_stored_in_order(hub: FakeHub, ana: Actor) -> None:
    own = [ana.say(str(number)) for number in range(10)]

    ana.send()

    assert bodies(hub) == [str(number) for number in range(10)]
    assert all(one.is_stored for one in own)
    assert len(ana.talk.sending) == 0


def test_what_was_under_way_when_the_hub_was_lost_goes_again_with_the_same_numbers_and_is_stored_once(
    hub: FakeHub, ana: Actor
) -> None:
    own = [ana.say(str(number)) for number in range(4)]
    due = ana.talk.sending.due()
    for one in due[:2]:
        hub.answer(one.call)
    ana.talk.sending.put_off()

    ana.send()

    assert bodies(hub) == ["0", "1", "2", "3"]
    assert [one.stamp.number for one in own] == [2, 3, 4, 5]
    assert [one.call.header.control for one in own] == [one.call.header.control for one in due]


def test_one_that_comes_before_its_turn_goes_again_with_those_before_it(hub: FakeHub, ana: Actor) -> None:
    for number in range(3):
        ana.say(str(number))
    lost = ana.talk.sending.due()
    for one in lost[1:]:
        with pytest.raises(PregonError) as refused:
            hub.answer(one.call)
        assert refused.value.is_retryable
    ana.talk.sending.put_off()

    ana.send()

    assert bodies(hub) == ["0", "1", "2"]


def test_an_answer_to_a_later_one_says_that_those_before_it_are_stored(hub: FakeHub, ana: Actor) -> None:
    own = [ana.say(str(number)) for number in range(3)]
    for one in ana.talk.sending.due():
        hub.answer(one.call)

    ana.talk.sending.stored(own[2], 5)

    assert all(one.is_stored for one in own)


def test_nothing_is_sent_twice_while_it_is_under_way(ana: Actor) -> None:
    ana.say("una vez")

    first, second = ana.talk.sending.due(), ana.talk.sending.due()

    assert (len(first), second) == (1, [])


def test_one_that_is_refused_for_good_gives_its_number_back_and_those_behind_it_fail_with_it(
    hub: FakeHub, ana: Actor
) -> None:
    luis = Actor([hub], "luis")
    luis.send()
    luis.catch_up()
    ana.tell("pregunta")
    luis.catch_up()
    refused, behind = luis.say("refuse me"), luis.say("detrás")
    luis.send()

    again = luis.tell("otra vez")
    ana.catch_up()

    assert isinstance(refused.error, BadRequest)
    assert isinstance(behind.error, Rejected) and "one before it" in str(behind.error)
    assert again.stamp == refused.stamp
    assert again.message.after == refused.message.after != ()
    assert bodies(hub) == ["pregunta", "otra vez"]
    assert texts(ana.events) == ["otra vez"]
    with pytest.raises(BadRequest, match="as you wish"):
        luis.talk.require_open()
    luis.talk.require_open()


def test_what_was_shown_since_a_refused_message_was_made_is_what_the_next_one_depends_on_too(
    hub: FakeHub, ana: Actor
) -> None:
    luis = Actor([hub], "luis")
    luis.send()
    first = ana.tell("uno")
    luis.catch_up()
    own = luis.say("refuse me")
    second = ana.tell("dos")
    luis.catch_up()
    luis.send()

    again = luis.say("de nuevo")

    assert own.message.after == (first.stamp,)
    assert again.message.after == (second.stamp,)


def test_too_many_that_wait_are_refused_and_nothing_is_broken(hub: FakeHub, ana: Actor) -> None:
    for number in range(SENDING_MAX):
        ana.say(str(number))
    with pytest.raises(QueueFull):
        ana.say("demasiado")

    ana.send()
    ana.tell("ahora sí")

    assert bodies(hub)[-2:] == [str(SENDING_MAX - 1), "ahora sí"]


def test_too_many_bytes_that_wait_are_refused(ana: Actor) -> None:
    half = "x" * (BODY_BYTES_MAX - 1)
    while not ana.talk.sending.is_full:
        ana.say(half)

    with pytest.raises(QueueFull):
        ana.say("x")
    assert len(ana.talk.sending) == -(-SENDING_BYTES_MAX // len(half))


def test_a_body_is_text_bytes_or_what_becomes_json() -> None:
    text, raw, json = (
        as_words("añil", None, None, None),
        as_words(b"\xff", None, None, None),
        as_words({"a": [1]}, None, None, None),
    )

    assert (text.body, text.content_type) == ("añil".encode(), "text/plain; charset=utf-8")
    assert (raw.body, raw.content_type) == (b"\xff", "application/octet-stream")
    assert (json.body, json.content_type) == (b'{"a":[1]}', JSON_CONTENT_TYPE)
    assert as_words("x", "text/html", {"color": "rojo"}, Stamp(3, 4)).answers == "3:4"


def test_what_cannot_be_sent_is_refused_before_it_has_a_number(ana: Actor) -> None:
    before = ana.talk.state()

    with pytest.raises(BadRequest, match="as JSON"):
        as_words({"a": object()}, None, None, None)
    with pytest.raises(BadRequest, match="group-"):
        as_words("x", None, {"Group-Stamp": "1:1"}, None)
    with pytest.raises(TooLarge):
        as_words(b"x" * (BODY_BYTES_MAX + 1), None, None, None)
    assert ana.talk.state() == before


def test_a_group_that_does_not_exist_is_made() -> None:
    hub = FakeHub(has_group=False)

    ana = Actor([hub], "ana")

    assert hub.has_group
    assert ana.talk.me == 2


def test_a_name_that_was_enrolled_for_a_join_that_failed_is_given_back(hub: FakeHub) -> None:
    def refuse(question: object) -> object:
        call = question.call  # type: ignore[attr-defined]
        if isinstance(call.header, g.Join):
            raise Forbidden("by invitation")
        return hub.answer(call)

    with pytest.raises(Forbidden):
        drive(joining(Wish(group=GROUP, name="ana")), refuse)

    assert hub.people == {}


def test_a_token_that_is_none_is_refused_and_its_participant_is_not_retired(hub: FakeHub, ana: Actor) -> None:
    with pytest.raises(Unauthorized):
        Actor([hub], token="another")
    assert list(hub.people) == [ana.talk.paths[0].token]


def test_a_name_that_is_none_is_refused_before_anything_is_asked(hub: FakeHub) -> None:
    with pytest.raises(BadName):
        Actor([hub], "<script>")

    assert hub.asked == []


def test_who_joins_is_said_once_by_name_token_or_state() -> None:
    assert wish_for("DGREC", GROUP, "", "", b"", history=False, paths=()).name == "DGREC"
    assert wish_for("local", GROUP, "", "", b"", history=False, paths=()).name
    assert wish_for("local", GROUP, "", "token", b"", history=True, paths=["tcp://b"]).name == ""
    with pytest.raises(BadRequest):
        wish_for("local", GROUP, "ana", "token", b"", history=False, paths=())
    with pytest.raises(BadRequest):
        wish_for("local", GROUP, "ana", "", b"", history=False, paths="tcp://b")


def test_reports_go_now_and_then_in_pieces_and_never_grow_without_limit(hub: FakeHub, ana: Actor) -> None:
    luis = Actor([hub], "luis")
    luis.send()
    ana.tell("hola")
    luis.read()
    delivery = luis.talk.intake.take()
    reports = Reports(is_wanted=True)
    for _ in range(GATHERED_MAX + 5):
        reports.add(delivery, 7)  # type: ignore[arg-type]

    first = reports.due(0)
    reports.failed(first)

    assert (len(first), reports.dropped, len(reports)) == (GROUP_REPORT_ROWS_MAX, 5, GATHERED_MAX)
    while len(reports) >= GROUP_REPORT_ROWS_MAX:
        assert len(reports.due(0)) == GROUP_REPORT_ROWS_MAX
    reports.failed([DeliveryRow("1:1", 0, 0)])
    assert reports.due(REPORT_EVERY_MS - 1) == []
    assert len(reports.due(REPORT_EVERY_MS)) == 1
    reports.turn_off()
    reports.add(delivery, 7)  # type: ignore[arg-type]
    assert len(reports) == 0
