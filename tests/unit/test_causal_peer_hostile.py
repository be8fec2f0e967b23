"""Frames that nobody who follows the rules would send: dropped, counted, and without harm to the others."""

import random

import pytest

from pregon.causal.message import CausalMessage
from pregon.causal.peer_bytes import decode_frame, encode_frame, encode_introduction, encode_message, encode_repair
from pregon.causal.peer_frames import (
    CLOCK_MEMBERS_MAX,
    HERE,
    AskFrame,
    Card,
    Introduction,
    JoinFrame,
    LeavingFrame,
    LostFrame,
    MessageFrame,
    NeverFrame,
    RefusedFrame,
    ReportFrame,
    StartFrame,
)
from pregon.causal.peer_outputs import PeerOptions, Send
from pregon.causal.stamps import Stamp
from pregon.errors import BadRequest
from pregon.limits import GROUP_HELD_MAX

from .causal_peers import Network

CARD = Card(7, HERE, Stamp(7, 1), "eva", "tcp://10.0.0.7:5600 tcp://10.0.0.7:5601")
FRAMES = [
    JoinFrame(7, 0, "eva", "", {}),
    JoinFrame(7, 1, "ñandú", "tcp://x:1", {1: 5, 9: 2**60}),
    StartFrame(1, 1, 7, {1: 5}, (CARD, Card(8, 3, None, "luis", ""))),
    RefusedFrame(1, 7, "already_exists", "join as another member"),
    ReportFrame(1, 1, True, {1: 5, 2: 6}),
    ReportFrame(1, 1, False, {}),
    AskFrame(1, 2, 3, 4),
    LostFrame(1, 2, 3, 4, (CARD,)),
    NeverFrame(1, 0),
    LeavingFrame(1),
]


def message(member: int, number: int, after: tuple[Stamp, ...] = (), body: bytes = b"") -> bytes:
    """An original message of the application."""
    return encode_message(CausalMessage(Stamp(member, number), after), 0, body)


def joined(member: int, group: int) -> bytes:
    """The first message of a member."""
    return encode_message(CausalMessage(Stamp(member, 1)), 1, encode_introduction(Introduction(group, "x", "")))


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__name__)
def test_every_frame_is_read_as_it_was_written(frame: object) -> None:
    assert decode_frame(encode_frame(frame)) == frame


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__name__)
def test_a_frame_cut_short_or_too_long_is_refused(frame: object) -> None:
    data = encode_frame(frame)

    for cut in range(len(data)):
        with pytest.raises(BadRequest):
            decode_frame(data[:cut])
    with pytest.raises(BadRequest):
        decode_frame(data + b"\0")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"\xff\xff",
        encode_repair(encode_frame(LeavingFrame(1))),
        encode_repair(b""),
        message(1, 1),
        encode_message(CausalMessage(Stamp(1, 2)), 1, encode_introduction(Introduction(1, "x", ""))),
        encode_message(CausalMessage(Stamp(1, 2)), 9, b""),
        encode_message(CausalMessage(Stamp(1, 2)), 3, b"\x01"),
        encode_message(CausalMessage(Stamp(1, 2)), 4, b"\x00\x02\xff\xff\x00"),
        b"\x05\x01\x01\x02\x00",
        encode_frame(ReportFrame(1, 1, True, dict.fromkeys(range(1, CLOCK_MEMBERS_MAX + 2), 1))),
    ],
)
def test_what_is_no_frame_is_counted_and_dropped(data: bytes) -> None:
    net = Network()
    net.group(1, 2)

    outputs = net.peers[1].receive(data, net.now_ms, 2)

    assert outputs == []
    assert net.peers[1].counts.malformed == 1


def test_no_bytes_make_a_peer_raise_or_stop() -> None:
    net = Network(1)
    net.group(1, 2, 3)
    dice = random.Random(4)
    seeds = [encode_frame(frame) for frame in FRAMES] + [message(3, 2, (Stamp(1, 1),)), encode_repair(message(3, 2))]
    for _ in range(5_000):
        data = bytearray(dice.choice(seeds))
        for _ in range(dice.randrange(4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        net.put(dice.choice([2, 3, 9]), 1, bytes(data[: dice.randrange(1, len(data) + 9)]))
    net.crash(3)

    net.say(2, b"still here")
    net.run(5_000)

    assert b"still here" in net.shown(1)


def test_an_original_message_on_the_connection_of_another_is_forged() -> None:
    net = Network()
    net.group(1, 2, 3)

    net.put(3, 1, message(2, 2, body=b"I am not two"))

    assert net.shown(1) == []
    assert net.peers[1].counts.forged == 1


@pytest.mark.parametrize(
    "frame", [ReportFrame(2, 1, True, {2: 99}), NeverFrame(2, 0), LeavingFrame(2), RefusedFrame(2, 1, "not_found", "")]
)
def test_nobody_speaks_for_another(frame: object) -> None:
    net = Network()
    net.group(1, 2, 3)

    net.put(3, 1, encode_frame(frame))

    assert net.peers[1].counts.forged == 1
    assert net.peers[1].is_in
    assert net.peers[1].members[2].state == HERE


def test_a_repair_may_carry_what_another_one_said() -> None:
    net = Network()
    net.group(1, 2, 3)

    net.put(3, 1, encode_repair(message(2, 2, body=b"as two said")))

    assert net.shown(1) == [b"as two said"]


def test_a_repair_of_what_it_never_said_itself_is_not_taken() -> None:
    net = Network()
    net.group(1, 2, 3)

    net.put(3, 1, encode_repair(message(1, 2, body=b"you said this")))

    assert net.peers[1].member.clock[1] == 1
    assert net.peers[1].counts.conflicts == 1
    assert net.say(1, b"no") == Stamp(1, 2)


def test_two_messages_of_one_name_are_noticed() -> None:
    net = Network()
    net.group(1, 2, 3)

    net.put(3, 1, message(3, 2, body=b"one thing"))
    net.put(3, 1, message(3, 2, body=b"another"))

    assert net.shown(1) == [b"one thing"]
    assert net.peers[1].counts.conflicts == 1


@pytest.mark.parametrize(
    "lie",
    [
        message(3, 10**15, body=b"from the future"),
        message(3, 2, (Stamp(2, 10**15),), b"after what does not exist"),
        message(3, 2, (Stamp(10**9, 1),), b"after nobody"),
        encode_frame(ReportFrame(3, 1, True, {1: 10**15, 2: 10**15, 3: 10**15, 10**9: 1})),
    ],
)
def test_a_lie_holds_up_only_the_liar(lie: bytes) -> None:
    net = Network()
    net.group(1, 2, 3)

    net.put(3, 1, lie)
    for number in range(20):
        net.say(2, b"%d" % number)
        net.run(100)

    assert len(net.shown(1)) == 20
    assert net.events(1)[-1] == ("Joined", 3)


def test_a_flood_of_what_cannot_be_shown_is_bounded() -> None:
    net = Network()
    net.group(1, 2, 3)
    peer = net.peers[1]

    for number in range(2, GROUP_HELD_MAX + 2_000):
        peer.receive(message(1_000 + number % 50, number), net.now_ms)

    assert len(peer.member.held) <= GROUP_HELD_MAX
    net.say(2, b"heard")
    net.run(500)
    assert net.shown(1) == [b"heard"]


def test_reports_of_strangers_are_bounded() -> None:
    net = Network()
    net.group(1, 2)
    peer = net.peers[1]

    for member in range(100, 1_100):
        peer.receive(encode_frame(ReportFrame(member, 1, True, dict.fromkeys(range(1, 500), 9))), net.now_ms)

    assert len(peer._standing.reports._strangers) <= 64
    assert len(peer._standing.reports._rows) == 1


def test_asking_for_everything_costs_no_more_than_the_limit() -> None:
    net = Network()
    net.group(1, 2, options=PeerOptions(answer_messages_max=50))
    net.is_cut = lambda one, other: True
    for number in range(200):
        net.say(1, b"%d" % number)

    outputs = net.peers[1].receive(encode_frame(AskFrame(2, 1, 1, 2**62)), net.now_ms, 2)

    assert len([one for one in outputs if isinstance(one, Send)]) <= 52


def test_a_stranger_joins_only_the_group_that_it_names() -> None:
    net = Network()
    net.group(1, 2)

    net.put(9, 1, joined(9, group=77))
    net.put(8, 1, joined(8, group=1))

    assert 9 not in net.peers[1].members
    assert 8 in net.peers[1].members
    assert net.peers[1].counts.foreign == 1


def test_being_told_that_it_is_gone_makes_it_say_that_it_is_not() -> None:
    net = Network()
    net.group(1, 2, 3)
    gone = encode_message(CausalMessage(Stamp(3, 2)), 3, b"\x01\x01")

    outputs = net.peers[1].receive(gone, net.now_ms, 3)
    said = decode_frame(outputs[0].frame)

    assert isinstance(said, MessageFrame)
    assert said.message.body.kind == 4
    assert net.peers[1].members[1].is_here
