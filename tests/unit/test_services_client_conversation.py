"""The reliable client, without sockets and without waiting: what is sent when, and how each ask ends."""

from __future__ import annotations

import msgspec
import pytest

from pregon.client.services.ask import AskOptions, ask_collect, ask_request, ask_services, ask_submit
from pregon.client.services.conversation import SILENCE_MS_MIN, UNDER_WAY_MAX, Ask, Conversation
from pregon.errors import (
    AnswerMalformed,
    AnswerTimeout,
    BadName,
    BadRequest,
    HubBusy,
    HubStopping,
    HubUnreachable,
    PregonError,
    QueueFull,
    ServiceFailed,
    ServiceUnserved,
    VersionUnserved,
)
from pregon.wire.services import (
    ACCEPTED,
    ANSWER,
    CANCEL,
    ERROR,
    REQUEST,
    decode_collect,
    decode_head,
    decode_request,
    encode_failure,
    encode_head,
)

ADDRESS = "tcp://broker"


def make_ask(**options: object) -> Ask:
    wished: AskOptions = {"timeout_ms": 10_000, **options}  # type: ignore[typeddict-item]
    return ask_request("sqrt", [b"100"], 10_000, wished)


def answer(ask: Ask, *body: bytes) -> list[bytes]:
    return [encode_head(ANSWER, ask.id), *body]


def refusal(ask: Ask, error: PregonError) -> list[bytes]:
    return [encode_head(ERROR, ask.id, encode_failure(error))]


@pytest.fixture
def talk() -> Conversation:
    return Conversation(ADDRESS)


def test_a_request_is_sent_with_a_number_of_its_own_and_answered_once(talk: Conversation) -> None:
    first, second = make_ask(), make_ask()
    heads = [decode_head(talk.begin(ask, 0)[0]) for ask in (first, second)]

    talk.took(answer(second, b"10"), 1)
    talk.took(answer(second, b"11"), 2)

    assert [head.kind for head in heads] == [REQUEST, REQUEST]
    assert heads[0].id != heads[1].id
    assert (first.is_done, second.result()) == (False, 10)
    assert talk.strays == 1


def test_a_plain_request_has_no_options_and_others_say_what_they_wish(talk: Conversation) -> None:
    plain, wished = make_ask(), make_ask(version="2", priority=9, deadline_ms=500)

    tails = [decode_head(talk.begin(ask, 0)[0]).tail for ask in (plain, wished)]

    assert tails[0] == b"sqrt"
    name, options = decode_request(tails[1])
    assert (name, options.version, options.priority, options.deadline_ms) == ("sqrt", "2", 9, 500)


def test_sent_again_less_is_left_of_the_deadline(talk: Conversation) -> None:
    ask = make_ask(deadline_ms=5_000)
    talk.begin(ask, 1_000)

    (again,) = talk.reconnected(3_500)

    assert decode_request(decode_head(again[0]).tail)[1].deadline_ms == 2_500


def test_silence_is_answered_with_a_new_socket_and_the_same_request(talk: Conversation) -> None:
    ask = make_ask(retries=3)
    sent = talk.begin(ask, 0)

    before = talk.look(2_499, is_connected=True)
    again = talk.look(2_500, is_connected=True)
    wanted = talk.wants_new_socket
    over_the_new_one = talk.reconnected(2_500)

    assert before == []
    assert again == over_the_new_one == [sent]
    assert wanted
    assert not talk.wants_new_socket


def test_where_the_broker_is_heard_the_request_goes_again_over_the_same_socket(talk: Conversation) -> None:
    slow, quick = make_ask(), make_ask()
    talk.begin(slow, 0)
    talk.begin(quick, 0)
    talk.took(answer(quick, b"1"), 2_000)

    again = talk.look(2_500, is_connected=True)

    assert len(again) == 1
    assert not talk.wants_new_socket


def test_it_is_sent_again_no_more_often_than_it_may_and_then_the_time_is_over(talk: Conversation) -> None:
    ask = make_ask(retries=2, timeout_ms=30_000)
    talk.begin(ask, 0)

    sent = [frames for now_ms in range(0, 30_001, 100) for frames in talk.look(now_ms, is_connected=True)]

    kinds = [decode_head(frames[0]).kind for frames in sent]
    assert kinds == [REQUEST, REQUEST, CANCEL]
    assert {decode_head(frames[0]).id for frames in sent} == {ask.id}
    assert isinstance(ask.failure, AnswerTimeout)
    assert len(talk) == 0


def test_a_short_time_limit_is_no_reason_to_ask_again(talk: Conversation) -> None:
    ask = make_ask(timeout_ms=SILENCE_MS_MIN - 1)
    talk.begin(ask, 0)

    sent = [frames for now_ms in range(0, 1_010, 10) for frames in talk.look(now_ms, is_connected=True)]

    assert [decode_head(frames[0]).kind for frames in sent] == [CANCEL]


def test_without_a_connection_the_broker_is_unreachable(talk: Conversation) -> None:
    ask = make_ask(timeout_ms=100)
    talk.begin(ask, 0)

    talk.look(100, is_connected=False)

    assert isinstance(ask.failure, HubUnreachable)
    assert ADDRESS in str(ask.failure)


def test_a_full_queue_is_asked_again_after_growing_pauses_as_long_as_the_caller_waits(talk: Conversation) -> None:
    ask = make_ask(retries=0, timeout_ms=10_000)
    talk.begin(ask, 0)

    times: list[int] = []
    talk.took(refusal(ask, QueueFull("full")), 0)
    for now_ms in range(0, 10_001, 10):
        if any(decode_head(frames[0]).kind == REQUEST for frames in talk.look(now_ms, is_connected=True)):
            times.append(now_ms)
            talk.took(refusal(ask, QueueFull("full")), now_ms)

    pauses = [after - before for before, after in zip([0, *times], times, strict=False)]
    assert pauses == sorted(pauses)
    assert pauses[0] == 20
    assert max(pauses) <= 2_000
    assert isinstance(ask.failure, QueueFull)


def test_what_is_put_off_is_not_sent_by_a_reconnection(talk: Conversation) -> None:
    put_off, other = make_ask(), make_ask()
    talk.begin(put_off, 0)
    talk.begin(other, 0)
    talk.took(refusal(put_off, QueueFull("full")), 1)

    again = talk.reconnected(2)

    assert [decode_head(frames[0]).id for frames in again] == [other.id]


def test_a_service_that_nobody_serves_is_asked_again_only_as_often_as_allowed(talk: Conversation) -> None:
    once, never = make_ask(retries=1), make_ask(retries=0)
    talk.begin(once, 0)
    talk.begin(never, 0)

    for ask in (once, never):
        talk.took(refusal(ask, ServiceUnserved("nobody")), 0)
    talk.look(20, is_connected=True)
    was_open = not once.is_done
    talk.took(refusal(once, ServiceUnserved("nobody")), 21)

    assert was_open
    assert isinstance(once.failure, ServiceUnserved)
    assert isinstance(never.failure, ServiceUnserved)


def test_an_error_that_sending_again_cannot_mend_is_raised_as_it_came(talk: Conversation) -> None:
    ask = make_ask()
    talk.begin(ask, 0)

    talk.took(refusal(ask, ServiceFailed("ValueError: no")), 1)

    with pytest.raises(ServiceFailed, match="ValueError: no"):
        ask.result()


@pytest.mark.parametrize(
    "frames",
    [
        [b""],
        [b"PGS1"],
        [b"PGS1A" + bytes(8)],
        [b"PGS2A" + bytes(8), b"x"],
        [bytes(100), b"x"],
    ],
)
def test_what_answers_nothing_is_counted_and_harms_nothing(talk: Conversation, frames: list[bytes]) -> None:
    ask = make_ask()
    talk.begin(ask, 0)

    talk.took(frames, 1)

    assert talk.strays == 1
    assert not ask.is_done


@pytest.mark.parametrize(("kind", "tail"), [(ANSWER, b""), (ERROR, b"{"), (ord("?"), b"")])
def test_an_answer_that_cannot_be_read_is_an_error_of_its_own(talk: Conversation, kind: int, tail: bytes) -> None:
    ask = make_ask()
    talk.begin(ask, 0)

    talk.took([encode_head(kind, ask.id, tail)], 1)

    assert isinstance(ask.failure, AnswerMalformed)


def test_who_gives_up_has_the_broker_told_once(talk: Conversation) -> None:
    ask = make_ask()
    talk.begin(ask, 0)

    told = [talk.give_up(ask), talk.give_up(ask)]

    assert told[0] is not None
    assert decode_head(told[0][0])[:2] == (CANCEL, ask.id)
    assert told[1] is None


def test_no_more_are_under_way_than_may_be(talk: Conversation) -> None:
    for _ in range(UNDER_WAY_MAX):
        talk.begin(make_ask(), 0)

    with pytest.raises(HubBusy):
        talk.begin(make_ask(), 0)


def test_the_end_is_told_to_all(talk: Conversation) -> None:
    asks = [make_ask(), make_ask()]
    for ask in asks:
        talk.begin(ask, 0)

    told = talk.end(HubStopping("closed"))

    assert [decode_head(frames[0])[:2] for frames in told] == [(CANCEL, ask.id) for ask in asks]
    assert all(isinstance(ask.failure, HubStopping) for ask in asks)
    assert len(talk) == 0


def test_a_durable_request_has_a_key_even_if_none_was_given(talk: Conversation) -> None:
    named, unnamed = ask_submit("sqrt", [b"1"], "k-1", 1_000, {}), ask_submit("sqrt", [b"1"], "", 1_000, {})

    keys = [decode_request(decode_head(talk.begin(ask, 0)[0]).tail)[1].key for ask in (named, unnamed)]
    talk.took([encode_head(ACCEPTED, named.id, b"k-1")], 1)

    assert keys[0] == "k-1"
    assert len(keys[1]) > 10
    assert named.result(str) == "k-1"


def test_collecting_waits_at_the_broker_and_a_little_longer_here(talk: Conversation) -> None:
    ask = ask_collect("k-1", 5_000, 10_000)

    id, options = decode_collect(decode_head(talk.begin(ask, 0)[0]).tail)

    assert (id, options.wait_ms) == ("k-1", 5_000)
    assert ask.until_ms == 15_000


def test_who_serves_what_is_read_from_json(talk: Conversation) -> None:
    ask = ask_services(1_000)
    talk.begin(ask, 0)

    talk.took(answer(ask, msgspec.json.encode([{"type": "sqrt"}])), 1)

    assert ask.result() == [{"type": "sqrt"}]


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 500, "\ud800"])
def test_a_name_that_cannot_travel_is_refused_before_it_does(name: str) -> None:
    with pytest.raises(BadName):
        ask_request(name, [b""], 1_000, {})


@pytest.mark.parametrize(
    "options", [{"priority": 10}, {"priority": -1}, {"retries": -1}, {"timeout_ms": 0}, {"deadline_ms": 0}]
)
def test_options_out_of_range_are_refused(options: AskOptions) -> None:
    with pytest.raises(BadRequest):
        ask_request("sqrt", [b""], 1_000, options)


def test_a_version_that_a_new_broker_does_not_know_yet_is_asked_for_again(talk: Conversation) -> None:
    before, after = make_ask(), make_ask()
    talk.begin(before, 0)
    talk.took(refusal(before, VersionUnserved("2")), 1)
    talk.reconnected(2)
    talk.begin(after, 3)

    talk.took(refusal(after, VersionUnserved("2")), 4)
    is_put_off = not after.is_done
    talk.look(100, is_connected=True)
    talk.took(answer(after, b"10"), 101)

    assert isinstance(before.failure, VersionUnserved)
    assert is_put_off
    assert after.is_done and after.failure is None
