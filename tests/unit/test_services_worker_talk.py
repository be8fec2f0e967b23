"""What a worker says to its broker, without sockets and without waiting."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pregon.client.services.worker_talk import Work, WorkerTalk
from pregon.errors import Forbidden, LimitReached, PregonError
from pregon.wire import services as wire
from pregon.wire.services import Failure, Head

WELCOME = [wire.encode_head(wire.WELCOME, wire.NO_ID, b'{"beat_ms":1000,"patience_ms":3000}')]
BEAT = [wire.encode_head(wire.BEAT)]
WHO = [wire.encode_head(wire.HELLO)]


def said(talk: WorkerTalk) -> list[Head]:
    """What was said since this was last asked."""
    outgoing, talk.outgoing = talk.outgoing, []
    return [wire.decode_head(frames[0]) for frames in outgoing]


def kinds(talk: WorkerTalk) -> str:
    return "".join(chr(head.kind) for head in said(talk))


def request(number: int, tail: bytes = b"sqrt", body: bytes = b"100") -> list[bytes]:
    return [wire.encode_head(wire.REQUEST, number.to_bytes(8, "big"), tail), body]


def given(talk: WorkerTalk, number: int, now_ms: float = 0) -> Work:
    """A work, which is taken."""
    work = talk.take(request(number), now_ms)
    assert work is not None
    return work


@pytest.fixture
def talk() -> WorkerTalk:
    """One that was welcomed at 0, with two slots."""
    talk = WorkerTalk(["sqrt@2", "cube"], "ana", 2)
    talk.told_load(0.25)
    talk.begin(0)
    talk.take(WELCOME, 0)
    said(talk)
    return talk


def test_a_hello_says_what_it_serves_how_much_and_how_busy_it_is() -> None:
    talk = WorkerTalk(["sqrt@2", "cube"], "ana", 2)
    talk.told_load(0.25)

    talk.begin(0)

    (head,) = said(talk)
    hello = wire.decode_hello(head.tail)
    assert (hello.types, hello.name, hello.slots, hello.load) == (["sqrt@2", "cube"], "ana", 2, 0.25)
    assert not talk.is_welcome


def test_a_hello_without_a_welcome_is_said_again_ever_less_often_then_over_a_new_socket() -> None:
    talk = WorkerTalk(["sqrt"], "", 1)
    talk.begin(0)
    said(talk)

    times, sockets = [], []
    for now_ms in range(0, 30_000, 50):
        talk.tick(now_ms)
        if talk.wants_new_socket:
            sockets.append(now_ms)
            talk.reconnected(now_ms)
        if said(talk):
            times.append(now_ms)

    pauses = [after - before for before, after in pairwise(times)]
    assert times[:3] == [500, 1_500, 3_500]
    assert pauses == sorted(pauses)
    assert max(pauses) == 5_000
    assert len(sockets) >= 1


def test_work_is_taken_while_there_is_room_and_given_back_beyond_that(talk: WorkerTalk) -> None:
    works = [talk.take(request(number), 0) for number in (1, 2, 3)]

    assert [work is not None for work in works] == [True, True, False]
    (back,) = said(talk)
    assert back[:2] == (wire.GIVE_BACK, (3).to_bytes(8, "big"))


def test_room_is_made_by_the_end_of_a_work_and_not_by_its_answer(talk: WorkerTalk) -> None:
    first, _ = given(talk, 1), given(talk, 2)

    talk.answer(first, Failure(message="it took too long"), 0)
    while_it_runs = talk.take(request(3), 0)
    talk.ended(first)
    after_it = talk.take(request(4), 0)

    assert while_it_runs is None
    assert after_it is not None


@pytest.mark.parametrize(
    ("tail", "name"),
    [
        (b"sqrt", "sqrt@2"),
        (b"sqrt@2", "sqrt@2"),
        (b"cube", "cube"),
        (b'cube\n{"attempt":3}', "cube"),
        (b"cube\n{", "cube"),
    ],
)
def test_work_is_for_the_type_or_for_its_version(talk: WorkerTalk, tail: bytes, name: str) -> None:
    work = talk.take(request(1, tail), 0)

    assert work is not None
    assert work.name == name


def test_work_of_another_type_is_given_back(talk: WorkerTalk) -> None:
    assert talk.take(request(1, b"sqrt@3"), 0) is None
    assert kinds(talk) == "N"


def test_an_attempt_and_a_deadline_are_read(talk: WorkerTalk) -> None:
    work = talk.take(request(1, b'cube\n{"attempt":2,"deadline_ms":500}'), 1_000)

    assert work is not None
    assert (work.attempt, work.until_ms) == (2, 1_500)


def test_an_answer_carries_its_body_and_the_load_when_it_is_another(talk: WorkerTalk) -> None:
    first, second = given(talk, 1), given(talk, 2)

    talk.answer(first, [b"10", b"more"], 0)
    talk.told_load(0.5)
    talk.answer(second, [b"10"], 0)

    assert talk.outgoing[0] == [wire.encode_head(wire.ANSWER, first.id), b"10", b"more"]
    assert talk.outgoing[1] == [wire.encode_head(wire.ANSWER, second.id, b"0.5"), b"10"]


def test_a_failure_carries_its_code_its_message_and_the_load(talk: WorkerTalk) -> None:
    work = given(talk, 1)

    talk.answer(work, Failure(code="bad_request", message="no"), 0)

    (head,) = said(talk)
    assert head[:2] == (wire.ERROR, work.id)
    failure = wire.decode_failure(head.tail)
    assert (failure.code, failure.message, failure.load) == ("bad_request", "no", 0.25)


def test_a_work_is_answered_once(talk: WorkerTalk) -> None:
    work = given(talk, 1)

    talk.answer(work, Failure(message="too long"), 0)
    talk.answer(work, [b"10"], 0)

    assert kinds(talk) == "E"


def test_a_beat_is_answered_at_once(talk: WorkerTalk) -> None:
    talk.told_load(2.0)

    talk.take(BEAT, 0)

    (head,) = said(talk)
    assert (head.kind, head.tail) == (wire.BEAT, b"2")


def test_who_has_said_nothing_for_a_beat_gives_a_sign_of_life(talk: WorkerTalk) -> None:
    heard = []
    for now_ms in range(0, 5_001, 50):
        talk.tick(now_ms)
        heard += [now_ms] * len(said(talk))

    assert heard == [1_000, 2_000, 3_000, 4_000, 5_000]


def test_nobody_beats_where_nobody_listens() -> None:
    talk = WorkerTalk(["sqrt"], "", 1)
    talk.begin(0)
    talk.take([wire.encode_head(wire.WELCOME)], 0)
    said(talk)

    for now_ms in range(0, 50_000, 50):
        talk.tick(now_ms)

    assert said(talk) == []


def test_a_broker_that_does_not_know_it_gets_a_hello_and_no_answers_to_what_it_never_asked(talk: WorkerTalk) -> None:
    work = given(talk, 1)
    said(talk)

    talk.take(WHO, 10)
    talk.answer(work, [b"10"], 20)

    assert kinds(talk) == "H"
    assert talk.dropped == [work]


def test_several_that_ask_who_it_is_get_one_hello(talk: WorkerTalk) -> None:
    for _ in range(3):
        talk.take(WHO, 10)
    talk.reconnected(20)
    before = kinds(talk)
    talk.take(WELCOME, 30)
    work = talk.take(request(1), 30)
    talk.tick(40)

    assert before == "H"
    assert work is not None
    assert said(talk) == []


def test_a_hello_that_was_lost_with_the_connection_is_said_again_soon() -> None:
    talk = WorkerTalk(["sqrt"], "", 1)
    talk.begin(0)
    for now_ms in range(0, 10_000, 50):
        talk.tick(now_ms)
    said(talk)

    talk.reconnected(10_000)
    talk.tick(10_500)

    assert kinds(talk) == "H"


def test_after_a_reconnection_a_beat_asks_whether_it_is_known(talk: WorkerTalk) -> None:
    given(talk, 1)
    said(talk)

    talk.reconnected(10)

    assert kinds(talk) == "B"


@pytest.mark.parametrize("is_heard", [True, False])
def test_after_a_reconnection_who_is_idle_and_hears_nothing_says_hello(talk: WorkerTalk, is_heard: bool) -> None:
    talk.reconnected(0)
    if is_heard:
        talk.take(BEAT, 100)
    for now_ms in range(0, 10_000, 50):
        talk.tick(now_ms)

    assert ("H" in kinds(talk)) != is_heard


def test_idle_and_hearing_nothing_for_a_minute_it_says_hello(talk: WorkerTalk) -> None:
    for now_ms in range(0, 60_001, 50):
        talk.tick(now_ms)

    assert kinds(talk).count("H") == 1


def test_what_nobody_waits_for_is_dropped_and_still_answered(talk: WorkerTalk) -> None:
    work = given(talk, 1)

    talk.take([wire.encode_head(wire.DROP, work.id)], 0)
    talk.answer(work, Failure(message="ended early"), 0)

    assert talk.dropped == [work]
    assert work.is_dropped
    assert kinds(talk) == "E"


def test_who_leaves_says_goodbye_answers_what_it_has_and_takes_no_more(talk: WorkerTalk) -> None:
    work = given(talk, 1)

    talk.leave(0)
    talk.leave(0)
    refused = talk.take(request(2), 0)
    was_done = talk.is_done
    talk.answer(work, [b"10"], 0)
    talk.ended(work)

    assert kinds(talk) == "GNA"
    assert refused is None
    assert (was_done, talk.is_done) == (False, True)


def test_who_leaves_beats_as_long_as_it_works_and_says_no_hello(talk: WorkerTalk) -> None:
    given(talk, 1)
    talk.leave(0)
    said(talk)

    talk.take(WHO, 10)
    for now_ms in range(0, 2_500, 50):
        talk.tick(now_ms)

    assert kinds(talk) == "BB"


def test_what_is_under_way_when_there_is_no_more_time_goes_to_others(talk: WorkerTalk) -> None:
    works = [given(talk, 1), given(talk, 2)]
    talk.leave(0)

    talk.give_back_rest(10)

    assert kinds(talk) == "GNN"
    assert talk.dropped == works


@pytest.mark.parametrize(("error", "is_final"), [(Forbidden("no"), True), (LimitReached("full"), False)])
def test_a_hello_that_is_refused_for_good_is_told(error: PregonError, is_final: bool) -> None:
    talk = WorkerTalk(["sqrt"], "", 1)
    talk.begin(0)

    talk.take([wire.encode_head(wire.ERROR, wire.NO_ID, wire.encode_failure(error))], 1)

    assert (talk.refusal is not None) == is_final


@pytest.mark.parametrize(
    "frames",
    [[b""], [b"PGS1"], [b"GET / HTTP/1.1"], [b"PGS1?" + bytes(8)], [b"PGS1X" + bytes(8)], [b"PGS1E" + bytes(8)]],
)
def test_nonsense_is_passed_over(talk: WorkerTalk, frames: list[bytes]) -> None:
    work = talk.take(frames, 0)

    assert work is None
    assert talk.is_welcome
    assert said(talk) == []
