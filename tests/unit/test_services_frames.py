"""Frames of clients and workers, in both forms: what is read, what is answered, and what is refused."""

from __future__ import annotations

import msgspec
import pytest
from property.stage import Stage, error_of, number, read

from pregon.limits import SERVICE_BODY_BYTES_MAX, SERVICE_HEAD_BYTES_MAX
from pregon.wire import services as wire


def test_a_plain_client_and_a_plain_worker_exchange_the_frames_that_are_taught() -> None:
    stage = Stage()
    stage.back(b"w", b"", b"", b"", b"")
    stage.front(b"c", b"", b"Hello", b"you")

    given = stage.at_back.pop(b"w")
    stage.back(b"w", b"", b"c", b"", b"World", b"!")

    assert given == [[b"", b"c", b"", b"Hello", b"you"]]
    assert stage.told(b"c") == [[b"", b"World", b"!"]]


def test_a_plain_answer_asks_for_more() -> None:
    stage = Stage()
    stage.register(b"w")
    stage.front(b"c1", b"", b"1")
    stage.front(b"c2", b"", b"2")

    stage.back(b"w", b"", b"c1", b"", b"r")

    assert stage.at_back[b"w"][-1] == [b"", b"c2", b"", b"2"]


def test_both_forms_meet() -> None:
    stage = Stage()
    stage.register(b"plain", b"default")
    stage.ask(b"rich-client", 1, "default", b"a", b"b")
    stage.hello(b"rich", "default")
    stage.front(b"plain-client", b"", b"m")

    stage.back(b"plain", b"", b"rich-client", b"", b"r")
    stage.answer(b"rich", b"s", b"t")

    assert stage.at_back[b"plain"] == [[b"", b"rich-client", b"", b"a", b"b"]]
    assert stage.told(b"rich-client") == [[b"PGS1A" + number(1), b"r"]]
    assert stage.told(b"plain-client") == [[b"", b"s", b"t"]]


def test_a_head_from_a_req_socket_is_answered_with_its_delimiter() -> None:
    stage = Stage()
    stage.hello(b"w", "A")

    stage.front(b"c", b"", b"PGS1R" + number(1) + b"A", b"m")
    stage.answer(b"w", b"r")

    assert stage.told(b"c") == [[b"", b"PGS1A" + number(1), b"r"]]


def test_what_stands_between_a_client_and_the_broker_is_put_before_the_answer() -> None:
    stage = Stage()
    stage.register(b"w")
    envelope = [b"hop-%d" % hop for hop in range(8)]

    stage.front(b"proxy", *envelope, b"", b"m")
    stage.back(b"w", b"", b"proxy", b"", b"r")

    assert stage.told(b"proxy") == [[*envelope, b"", b"r"]]


@pytest.mark.parametrize(
    "frames",
    [
        [],
        [b"m"],
        [b""],
        [b"m", b""],
        [*[b"hop"] * 9, b"", b"m"],
        [b"hop" * 100, b"", b"m"],
    ],
)
def test_what_says_not_who_asks_for_what_is_counted_and_not_answered(frames: list[bytes]) -> None:
    stage = Stage()

    stage.front(b"c", *frames)

    assert stage.broker.counts.malformed == 1
    assert stage.told(b"c") == []


def test_an_error_reaches_a_plain_client_as_a_sentence_and_a_head() -> None:
    stage = Stage({"wait_ms": 100})
    stage.front(b"proxy", b"c", b"", b"m")

    stage.wait(100)

    ((hop, delimiter, sentence, head),) = stage.told(b"proxy")
    assert (hop, delimiter) == (b"c", b"")
    assert sentence.startswith(b"error service_unserved: no worker that serves default came in 100 ms")
    assert error_of(read([head])).code == "service_unserved"


@pytest.mark.parametrize(
    ("head", "body", "code"),
    [
        (b"PGS1", [b"m"], "bad_request"),
        (b"PGS1R", [b"m"], "bad_request"),
        (b"PGS1R" + number(1), [b"m"], "bad_name"),
        (b"PGS1R" + number(1) + b"A", [], "bad_request"),
        (b"PGS1R" + number(1) + b"A", [b""] * 65, "too_large"),
        (b"PGS1R" + number(1) + b"A", [bytes(SERVICE_BODY_BYTES_MAX), b"1"], "too_large"),
        (b"PGS1R" + number(1) + b"A@2", [b"m"], "bad_request"),
        (b"PGS1R" + number(1) + b"A\n{", [b"m"], "bad_request"),
        (b"PGS1R" + number(1) + b'A\n{"priority": 10}', [b"m"], "bad_request"),
        (b"PGS1R" + number(1) + b'A\n{"deadline_ms": 0}', [b"m"], "bad_request"),
        (b"PGS1R" + number(1) + b"\xff", [b"m"], "bad_request"),
        (b"PGS1R" + number(1) + b"no name!", [b"m"], "bad_name"),
        (b"PGS1R" + number(1) + b"A" * SERVICE_HEAD_BYTES_MAX, [b"m"], "bad_request"),
        (b"PGS1A" + number(1), [b"m"], "bad_request"),
        (b"PGS1L" + number(1) + b"id", [], "bad_request"),
        (b"PGS1R" + number(1) + b'A\n{"durable": true}', [b"m"], "bad_request"),
    ],
)
def test_what_a_client_says_wrongly_is_refused_with_its_number(head: bytes, body: list[bytes], code: str) -> None:
    stage = Stage()

    stage.front(b"c", head, *body)

    (heard,) = map(read, stage.told(b"c"))
    assert (heard.kind, error_of(heard).code) == ("E", code)
    assert heard.id == (number(1) if len(head) > 12 else wire.NO_ID)
    assert stage.broker.held_bytes == 0


def test_a_body_may_be_one_empty_frame() -> None:
    stage = Stage()
    stage.hello(b"w", "A")

    stage.ask(b"c", 1, "A", b"")
    stage.answer(b"w", b"")

    assert stage.answers(b"c") == [[b""]]


def test_a_request_that_is_under_way_is_not_taken_twice() -> None:
    stage = Stage()
    stage.hello(b"w", "A", slots=2)
    stage.ask(b"c", 1, "A", b"first")
    stage.ask(b"other", 1, "A", b"of another")

    stage.ask(b"c", 1, "A", b"again")

    assert stage.given(b"w") == [b"first", b"of another"]
    assert stage.broker.counts.duplicates == 1


def test_a_number_may_be_used_again_when_its_request_has_ended() -> None:
    stage = Stage()
    stage.hello(b"w", "A")
    stage.ask(b"c", 1, "A")
    stage.answer(b"w")

    stage.ask(b"c", 1, "A")
    stage.answer(b"w")

    assert len(stage.answers(b"c")) == 2


def test_no_client_can_take_the_place_of_another_behind_a_proxy() -> None:
    stage = Stage()
    stage.front(b"a", b"b", b"", b"PGS1R" + number(1) + b"A", b"of one behind a proxy")

    stage.ask(b"a\0b\0", 1, "A", b"of another")
    stage.cancel(b"a\0b\0", 1)
    stage.cancel(b"a", 1)

    assert [one.body for one in stage.broker.lines[b"A"].waiting.all()] == [[b"of one behind a proxy"]]


def test_no_client_can_take_the_place_of_the_hub() -> None:
    stage = Stage()
    told: list[object] = []
    id = stage.parts.ask("A", [b"of the hub"], wire.RequestOptions(), told.append)

    stage.front(b"hub", b"PGS1C" + id)
    stage.front(b"hub", b"PGS1R" + id + b"A", b"of another")
    stage.hello(b"w", "A", slots=2)

    assert stage.given(b"w") == [b"of the hub", b"of another"]


def test_who_serves_what_is_told_to_who_asks() -> None:
    stage = Stage()
    stage.hello(b"w", "A@2", slots=3)

    stage.front(b"c", b"PGS1Q" + number(7))

    (heard,) = map(read, stage.told(b"c"))
    rows = {(row["type"], row["version"]): row for row in msgspec.json.decode(heard.body[0])}
    assert heard.id == number(7)
    assert set(rows) == {("default", ""), ("A", ""), ("A", "2")}
    assert (rows["A", "2"]["workers"], rows["A", ""]["slots"]) == (1, 3)


@pytest.mark.parametrize(
    "frames",
    [[], [b""], [b"x"], [b"", b"c"], [b"", b"c", b"x", b"r"], [b"", b"c", b""], [b"", b"", b"", b"no name!"],
     [b"", b"", b"", b"\xff"], [b"", b"", b"", b",".join([b"A"] * 101)]],
)  # fmt: skip
def test_what_a_plain_worker_says_wrongly_is_counted(frames: list[bytes]) -> None:
    stage = Stage()

    stage.back(b"w", *frames)

    assert stage.broker.counts.malformed == 1
    assert stage.broker.workers == {}
    assert stage.at_back == {}


@pytest.mark.parametrize(
    "head",
    [
        b"PGS1",
        b"PGS1A",
        b"PGS1H" + bytes(8),
        b"PGS1H" + bytes(8) + b"{",
        b"PGS1H" + bytes(8) + b'{"types": []}',
        b"PGS1H" + bytes(8) + b'{"types": ["A"], "slots": 0}',
        b"PGS1H" + bytes(8) + b'{"types": ["A"], "load": -1}',
        b"PGS1H" + bytes(8) + b'{"types": ["no name!"]}',
        b"PGS1H" + bytes(8) + b'{"types": ["A@no name!"]}',
        b"PGS1H" + bytes(8) + b'{"types": ["\\ud800"]}',
        b"PGS1H" + bytes(8) + b"[" * 5_000,
    ],
)
def test_a_hello_that_cannot_be_taken_is_refused_with_the_reason(head: bytes) -> None:
    stage = Stage()

    stage.back(b"w", head)

    (heard,) = stage.heard(b"w")
    assert (heard.kind, heard.id) == ("E", wire.NO_ID)
    assert error_of(heard).code in ("bad_request", "bad_name")
    assert stage.broker.workers == {}


@pytest.mark.parametrize("head", [b"PGS1Q" + bytes(8), b"PGS1A1234", b"PGS1", b"PGS1B" + bytes(SERVICE_HEAD_BYTES_MAX)])
def test_what_no_worker_says_is_refused(head: bytes) -> None:
    stage = Stage()
    stage.hello(b"w", "A")
    stage.heard(b"w")

    stage.back(b"w", head, b"r")

    (heard,) = stage.heard(b"w")
    assert (heard.kind, error_of(heard).code) == ("E", "bad_request")


@pytest.mark.parametrize("body", [[], [b""] * 65, [bytes(SERVICE_BODY_BYTES_MAX), b"1"]])
def test_an_answer_that_is_too_large_or_none_is_a_failure_of_the_service(body: list[bytes]) -> None:
    stage = Stage()
    stage.hello(b"w", "A")
    stage.ask(b"c", 1, "A")

    stage.say(b"w", wire.ANSWER, stage.work(b"w")[-1].id, *body)

    assert stage.errors(b"c") == ["service_failed"]


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        (b'{"code": "boom", "message": "it broke"}', "it broke"),
        (b'{"code": "boom"}', "boom"),
        (b"", "service_failed"),
        (b"{", "service_failed"),
        (b'{"message": "' + b"x" * 3_000 + b'"}', "x" * 2_000),
    ],
)
def test_a_failure_is_told_to_the_client_with_the_words_of_the_worker(tail: bytes, message: str) -> None:
    stage = Stage()
    stage.hello(b"w", "A")
    stage.ask(b"c", 1, "A")

    stage.say(b"w", wire.ERROR, stage.work(b"w")[-1].id, tail=tail)

    (heard,) = map(read, stage.told(b"c"))
    assert (error_of(heard).code, error_of(heard).message) == ("service_failed", message)
    assert stage.broker.workers[b"w"].free == 1


def test_work_says_its_attempt_and_what_is_left_of_the_deadline() -> None:
    stage = Stage()
    stage.hello(b"w1", "A")
    stage.ask(b"c", 1, "A", deadline_ms=500)
    stage.wait(100)
    stage.hello(b"w2", "A")

    stage.broker.give_up(stage.broker.workers[b"w1"], "it fell silent")
    stage.bring()

    assert stage.work(b"w1")[0].tail == b'A\n{"attempt":1,"deadline_ms":500}'
    assert stage.work(b"w2")[0].tail == b'A\n{"attempt":2,"deadline_ms":400}'
