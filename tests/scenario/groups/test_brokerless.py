"""A group without a hub, as a program uses it: the same things that a group of a hub can do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import zmq

from pregon.causal.peer_outputs import PeerOptions
from pregon.causal.stamps import Stamp
from pregon.client.groups.brokerless import PeerGroup, PeerGroupOptions
from pregon.client.groups.brokerless_aio import AsyncPeerGroup
from pregon.client.groups.events import (
    Event,
    GroupMessage,
    MemberGone,
    MemberJoined,
    MemberLeft,
    Relation,
)
from pregon.errors import AddressInUse, AnswerTimeout, BadName, BadRequest, SettingsInvalid

WAIT_S = 20.0
QUICK = PeerGroupOptions(peer=PeerOptions(dead_ms=2_000, beat_ms=500, forget_ms=4_000))


@pytest.fixture
def life() -> Iterator[ExitStack]:
    """Closes every member that a test has opened."""
    with ExitStack() as stack:
        yield stack


def next_of(group: PeerGroup, kind: type[Event]) -> Event:
    """The next event of a kind; others before it are passed over."""
    while True:
        event = group.poll(WAIT_S)
        assert event is not None, f"no {kind.__name__} came"
        if isinstance(event, kind):
            return event


def next_message(group: PeerGroup) -> GroupMessage:
    """The next message."""
    event = next_of(group, GroupMessage)
    assert isinstance(event, GroupMessage)
    return event


def three(life: ExitStack, options: PeerGroupOptions | None = None) -> list[PeerGroup]:
    """Ana, who founded the group, Luis and Eva, who know of each other."""
    ana = life.enter_context(PeerGroup("design", name="ana", options=options))
    luis = life.enter_context(PeerGroup("design", name="luis", peers=[ana.address], options=options))
    eva = life.enter_context(PeerGroup("design", name="eva", peers=[luis.address], options=options))
    next_of(ana, MemberJoined)
    next_of(ana, MemberJoined)
    next_of(luis, MemberJoined)
    return [ana, luis, eva]


def test_a_message_reaches_all_with_what_it_says(life: ExitStack) -> None:
    ana, luis, eva = three(life)

    stamp = ana.send({"hola": "ñandú"}, headers={"color": "azul"})
    shown = [next_message(luis), next_message(eva)]

    for message in shown:
        assert message.stamp == stamp
        assert message.json() == {"hola": "ñandú"}
        assert (message.sender, message.member, message.seq) == ("ana", ana.number, 0)
        assert message.headers == {"color": "azul"}
        assert message.content_type == "application/json"
        assert message.sent_us > 0


def test_an_answer_comes_after_what_it_answers_and_others_are_concurrent(life: ExitStack) -> None:
    ana, luis, eva = three(life)
    asked = ana.send("¿quién viene?")
    question = next_message(luis)
    aside = eva.send("llueve")

    luis.send("yo", answers=question)
    by_stamp = {message.stamp: message for message in (next_message(ana), next_message(ana))}
    [answer] = [message for message in by_stamp.values() if message.answers is not None]

    assert answer.answers == asked
    assert answer.after == (asked,)
    assert answer.is_after(asked)
    assert answer.concurrent_with(by_stamp[aside])
    assert answer.relation(asked) is Relation.AFTER
    assert aside in ana.concurrent(answer)


def test_what_was_not_looked_at_is_nothing_that_a_message_follows_from(life: ExitStack) -> None:
    ana, luis, eva = three(life)
    first = ana.send("primero")
    next_message(eva)

    luis.send("sin mirar")
    message = next_message(eva)

    assert first not in message.after
    assert message.concurrent_with(first)


def test_members_and_their_changes_are_told(life: ExitStack) -> None:
    ana, luis, eva = three(life)
    assert {member.name for member in ana.members} == {"ana", "luis", "eva"}

    luis.leave()
    left = next_of(ana, MemberLeft)

    assert left.name == "luis"
    assert next_of(eva, MemberLeft).member == luis.number
    assert {member.name for member in ana.members} == {"ana", "eva"}
    assert luis.poll(0) is None


def test_who_is_silent_is_missed_and_who_comes_back_has_everything(life: ExitStack) -> None:
    ana, luis, _ = three(life, QUICK)
    state = luis.state()
    luis.close()
    gone = next_of(ana, MemberGone)
    stamp = ana.send("mientras no estabas")

    again = life.enter_context(PeerGroup("design", state=state, peers=[ana.address], options=QUICK))
    message = next_message(again)

    assert gone.member == again.number == luis.number
    assert again.name == "luis"
    assert (message.stamp, message.text) == (stamp, "mientras no estabas")
    assert next_of(ana, MemberJoined).member == luis.number


def test_what_was_not_looked_at_is_in_the_state(life: ExitStack) -> None:
    ana, luis, eva = three(life)
    ana.send("uno")
    ana.send("dos")
    next_message(eva)
    next_message(eva)
    while luis._loop.pending == [] or len(luis._loop.pending) < 2:
        eva.poll(0.01)
    state = luis.state()
    luis.close()

    again = life.enter_context(PeerGroup("design", state=state, peers=[ana.address]))

    assert [next_message(again).text, next_message(again).text] == ["uno", "dos"]


def test_a_queue_of_one_loses_most_of_a_burst_and_all_of_it_is_shown(life: ExitStack) -> None:
    narrow = PeerGroupOptions(queue_max=1)
    ana, luis, eva = three(life, narrow)

    sent = [ana.send(f"{number}") for number in range(300)]

    for group in (luis, eva):
        assert [next_message(group).stamp for _ in sent] == sent


def test_who_does_not_look_takes_no_more_room_and_is_shown_all_when_it_does(life: ExitStack) -> None:
    ana = life.enter_context(PeerGroup("design", name="ana"))
    lazy = PeerGroupOptions(events_max=20)
    luis = life.enter_context(PeerGroup("design", name="luis", peers=[ana.address], options=lazy))
    next_of(ana, MemberJoined)

    sent = [ana.send(f"{number}") for number in range(400)]
    eva = life.enter_context(PeerGroup("design", name="eva", peers=[ana.address]))
    waiting = len(luis._loop.pending)
    shown = [next_message(luis).stamp for _ in sent]

    assert waiting <= 20 + 2
    assert shown == sent
    assert eva.number in {member.number for member in ana.members}


def test_the_async_member_does_the_same(life: ExitStack) -> None:
    ana = life.enter_context(PeerGroup("design", name="ana"))

    async def talk() -> list[str]:
        async with await AsyncPeerGroup.join("design", name="luis", peers=[ana.address]) as luis:
            await luis.send("hola")
            heard = await asyncio.to_thread(next_message, ana)
            ana.send("qué tal", answers=heard)
            texts = []
            async for event in luis:
                if isinstance(event, GroupMessage):
                    texts.append(event.text)
                    break
            assert await luis.poll(0.01) is None
            await luis.leave()
            return [heard.text, *texts]

    assert asyncio.run(talk()) == ["hola", "qué tal"]
    assert isinstance(next_of(ana, MemberLeft), MemberLeft)


def test_nobody_who_answers_is_a_time_out_in_words() -> None:
    with pytest.raises(AnswerTimeout, match=r"nobody answers for tcp://127\.0\.0\.1:1"):
        PeerGroup("design", name="ana", peers=["tcp://127.0.0.1:1"], options=PeerGroupOptions(timeout_s=0.5))


def test_a_number_in_use_is_refused(life: ExitStack) -> None:
    ana = life.enter_context(PeerGroup("design", name="ana", options=PeerGroupOptions(number=7)))
    life.enter_context(PeerGroup("design", name="luis", peers=[ana.address], options=PeerGroupOptions(number=8)))
    next_of(ana, MemberJoined)

    with pytest.raises(Exception, match="join as another member") as caught:
        PeerGroup("design", name="eva", peers=[ana.address], options=PeerGroupOptions(number=8, timeout_s=WAIT_S))

    assert getattr(caught.value, "code", "") == "already_exists"


def test_another_group_at_the_same_address_is_not_met(life: ExitStack) -> None:
    ana = life.enter_context(PeerGroup("design", name="ana"))

    with pytest.raises(AnswerTimeout):
        PeerGroup("designers", name="eva", peers=[ana.address], options=PeerGroupOptions(timeout_s=1.0))

    assert len(ana.members) == 1


def test_bytes_that_mean_nothing_do_no_harm(life: ExitStack) -> None:
    ana, luis, _ = three(life)
    context = zmq.Context()
    stranger = context.socket(zmq.DEALER)
    stranger.setsockopt(zmq.LINGER, 1_000)
    stranger.connect(ana.address.split(" ")[0])
    named = context.socket(zmq.DEALER)
    named.setsockopt(zmq.LINGER, 1_000)
    named.setsockopt(zmq.IDENTITY, b"\1" + (99).to_bytes(8, "big") + b"abcd")
    named.connect(ana.address.split(" ")[0])

    for socket in (stranger, named):
        for parts in ([b""], [b"design"], [b"design", b"\xff\0"], [b"design", b"\1" * 50], [b"a", b"b", b"c"]):
            socket.send_multipart(parts)
    luis.send("sigo aquí")

    assert next_message(ana).text == "sigo aquí"
    while not ana.counts.malformed:
        ana.poll(0.05)
    stranger.close()
    named.close()
    context.term()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"name": ""}, BadRequest),
        ({"name": "a\nb"}, BadName),
        ({"name": "ana", "listen": "udp://x"}, SettingsInvalid),
        ({"name": "ana", "listen": "tcp://*:*"}, SettingsInvalid),
        ({"name": "ana", "listen": "tcp://10.255.255.1:1"}, SettingsInvalid),
        ({"name": "ana", "peers": ["nowhere"]}, SettingsInvalid),
        ({"state": b"\x01"}, BadRequest),
    ],
)
def test_what_cannot_be_is_refused_in_words(arguments: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        PeerGroup("design", **arguments)  # type: ignore[arg-type]


def test_a_place_in_use_is_refused(life: ExitStack) -> None:
    ana = life.enter_context(PeerGroup("design", name="ana"))

    with pytest.raises(AddressInUse):
        PeerGroup("design", name="eva", listen=ana.address.split(" ")[0])


def test_who_is_closed_says_no_more(life: ExitStack) -> None:
    ana = life.enter_context(PeerGroup("design", name="ana"))
    ana.close()

    with pytest.raises(Exception, match="closed"):
        ana.send("hola")
    assert ana.poll(0) is None
    assert list(ana) == []


def test_a_founder_that_comes_back_alone_goes_on(life: ExitStack) -> None:
    ana = PeerGroup("design", name="ana")
    ana.send("uno")
    state = ana.state()
    ana.close()

    again = life.enter_context(PeerGroup("design", state=state))

    assert again.send("dos") == Stamp(again.number, 3)
