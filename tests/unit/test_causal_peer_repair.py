"""Losses in a group without a hub: found out, repaired, bounded, and told when they are for good."""

import pytest

from pregon.causal.peer_bytes import REPAIR, decode_frame, encode_frame
from pregon.causal.peer_frames import AskFrame, LostFrame, MessageFrame, NeverFrame, ReportFrame
from pregon.causal.peer_outputs import Missed, PeerOptions, Send
from pregon.causal.stamps import Stamp

from .causal_peers import OPTIONS, Network


def is_message_of(frame: bytes, member: int) -> bool:
    """Whether a frame is an original message of a member."""
    said = decode_frame(frame)
    return isinstance(said, MessageFrame) and not said.is_repair and said.message.stamp.member == member


def asks(net: Network, me: int) -> list[tuple[int | None, AskFrame]]:
    """What a peer asked for, and of whom."""
    sent = [(send.to, decode_frame(send.frame)) for source, send in net.sent if source == me]
    return [(to, frame) for to, frame in sent if isinstance(frame, AskFrame)]


def test_a_lost_message_in_the_middle_is_asked_of_its_sender() -> None:
    net = Network()
    net.group(1, 2, 3)
    net.drops = lambda source, to, frame: to == 2 and is_message_of(frame, 1)
    net.say(1, b"one")
    net.drops = lambda source, to, frame: False
    net.say(1, b"two")

    net.run(1_500)

    assert net.shown(2) == [b"one", b"two"]
    assert [(to, frame.member) for to, frame in asks(net, 2)] == [(1, 1)]


def test_a_lost_last_message_is_found_out_from_the_reports() -> None:
    net = Network()
    net.group(1, 2, 3)
    net.drops = lambda source, to, frame: to == 2 and is_message_of(frame, 1)

    net.say(1, b"the last one")
    net.run(2_000)

    assert net.shown(2) == [b"the last one"]


def test_another_member_repairs_when_the_sender_is_not_heard() -> None:
    net = Network()
    net.group(1, 2, 3)
    net.is_cut = lambda one, other: {one, other} == {1, 2}

    net.say(1, b"around the corner")
    net.run(3_000)

    assert net.shown(2) == [b"around the corner"]
    assert {to for to, _ in asks(net, 2)} >= {3}


@pytest.mark.parametrize("seed", range(5))
def test_everything_reaches_everybody_through_a_network_that_loses_a_third(seed: int) -> None:
    net = Network(seed, loss=0.33, delay_ms=120, twice=0.1)
    net.group(1, 2, 3, 4)
    for number in range(60):
        net.say(1 + number % 4, b"%d" % number)
        net.run(30)

    net.run(20_000)

    assert [len(net.shown(me)) for me in (1, 2, 3, 4)] == [45, 45, 45, 45]
    assert all(len(peer.member.held) == 0 for peer in net.peers.values())
    net.loss = 0.0
    net.run(5_000)
    assert all(peer.retained_count == 0 for peer in net.peers.values())


def test_nothing_is_kept_that_everybody_has() -> None:
    net = Network()
    net.group(1, 2, 3)
    for number in range(100):
        net.say(1, b"%d" % number)
    kept = net.peers[1].retained_count

    net.run(2_000)

    assert kept == 100
    assert [peer.retained_count for peer in net.peers.values()] == [0, 0, 0]


def test_what_is_kept_is_bounded_in_messages_and_the_oldest_go_first() -> None:
    options = PeerOptions(retained_max=10)
    net = Network()
    net.group(1, 2, options=options)
    net.is_cut = lambda one, other: True

    for number in range(50):
        net.say(1, b"%d" % number)

    assert net.peers[1].retained_count == 10
    assert net.peers[1]._standing.retained.find(Stamp(1, 51)) is not None
    assert net.peers[1]._standing.retained.find(Stamp(1, 41)) is None


def test_what_is_kept_is_bounded_in_bytes() -> None:
    options = PeerOptions(retained_bytes_max=1_000)
    net = Network()
    net.group(1, 2, options=options)
    net.is_cut = lambda one, other: True

    for _ in range(50):
        net.say(1, b"x" * 90)

    assert 0 < net.peers[1]._standing.retained.bytes <= 1_000


def test_what_nobody_keeps_any_more_is_told_as_missed_and_the_rest_is_shown() -> None:
    options = PeerOptions(retained_max=5)
    net = Network()
    net.group(1, 2, options=options)
    net.is_cut = lambda one, other: True
    for number in range(20):
        net.say(1, b"%d" % number)

    net.is_cut = lambda one, other: False
    net.run(5_000)

    assert [one for one in net.told[2] if isinstance(one, Missed)] == [Missed(1, 2, 16)]
    assert net.shown(2) == [b"15", b"16", b"17", b"18", b"19"]
    assert net.peers[2].counts.missed == 15


def test_a_message_that_nobody_ever_sent_is_denied_by_its_sender() -> None:
    net = Network()
    net.group(1, 2)

    [answer] = net.peers[1].receive(encode_frame(AskFrame(2, 1, 50, 60)), net.now_ms, 2)

    assert decode_frame(answer.frame) == NeverFrame(1, 1)


def test_what_is_forgotten_is_said_to_be_with_who_its_sender_is() -> None:
    net = Network()
    net.group(1, 2)
    net.say(1, b"known to all")
    net.run(2_000)

    [answer] = net.peers[1].receive(encode_frame(AskFrame(2, 1, 1, 2)), net.now_ms, 2)

    said = decode_frame(answer.frame)
    assert isinstance(said, LostFrame)
    assert (said.member, said.first, said.last) == (1, 1, 2)
    assert [card.name for card in said.cards] == ["peer-1"]


def test_a_report_of_what_does_not_exist_is_not_chased_for_ever() -> None:
    net = Network()
    net.group(1, 2, 3)
    lie = encode_frame(ReportFrame(3, 1, True, {1: 10**15, 2: 1, 3: 1}))

    net.put(3, 2, lie)
    net.run(1_000)
    asked = len(asks(net, 2))
    net.run(10_000)

    assert asked == 1
    assert len(asks(net, 2)) == 1
    assert not net.told[2][-1:] or not isinstance(net.told[2][-1], Missed)


def test_who_asks_for_much_is_served_slowly_and_in_the_end_wholly() -> None:
    options = PeerOptions(answer_messages_max=10, ask_messages_max=1_000)
    net = Network()
    net.group(1, 2, options=options)
    net.is_cut = lambda one, other: True
    for number in range(100):
        net.say(1, b"%d" % number)

    first = net.peers[1].receive(encode_frame(AskFrame(2, 1, 2, 101)), net.now_ms, 2)
    again = net.peers[1].receive(encode_frame(AskFrame(2, 1, 2, 101)), net.now_ms, 2)
    net.is_cut = lambda one, other: False
    net.run(20_000)

    assert [send.frame[0] for send in first if isinstance(send, Send)] == [REPAIR] * 10
    assert again == []
    assert len(net.shown(2)) == 100


def test_how_much_is_asked_for_at_a_time_is_bounded() -> None:
    options = PeerOptions(ask_messages_max=16)
    net = Network()
    net.group(1, 2, options=options)
    net.is_cut = lambda one, other: True
    for number in range(200):
        net.say(1, b"%d" % number)

    net.is_cut = lambda one, other: False
    net.run(20_000)

    assert len(net.shown(2)) == 200
    assert max(frame.last - frame.first + 1 for _, frame in asks(net, 2)) <= 16


def test_who_does_not_answer_is_asked_ever_more_rarely() -> None:
    net = Network()
    net.group(1, 2)
    net.drops = lambda source, to, frame: source == 1 and frame[0] in (1, REPAIR)
    net.say(1, b"never comes")

    net.run(2_000)
    soon = len(asks(net, 2))
    net.run(10_000)

    assert soon >= 4
    assert len(asks(net, 2)) - soon <= 10_000 / (OPTIONS.ask_ms * 16) + 2


def test_a_member_is_introduced_by_others_when_its_first_message_is_lost_for_good() -> None:
    options = PeerOptions(retained_max=3)
    net = Network()
    net.group(1, 2, options=options)
    net.is_cut = lambda one, other: 2 in (one, other)
    net.join(3, options)
    net.run(4_500)
    for number in range(6):
        net.say(3, b"%d" % number)
    net.run(200)

    net.is_cut = lambda one, other: False
    net.run(5_000)

    assert [one.first for one in net.told[2] if isinstance(one, Missed)] == [1]
    assert ("Joined", 3) in net.events(2)
    assert net.shown(2)[-1] == b"5"
    assert net.peers[2].members[3].name == "peer-3"


def test_a_poisoned_copy_does_not_keep_out_what_others_have() -> None:
    net = Network()
    net.group(1, 2, 3)
    honest, poisoned = _two_faced(3)

    net.put(3, 1, honest)
    net.put(3, 2, poisoned)
    # 3 is gone with what it did: only what it told the others is left.
    net.crash(3)
    net.say(1, b"I have seen it")
    net.run(20_000)

    assert net.shown(2)[-1] == b"I have seen it"
    assert len(net.peers[2].member.held) == 0


def _two_faced(member: int) -> tuple[bytes, bytes]:
    """Two messages of one name, the second of which depends on what does not exist."""
    from pregon.causal.message import CausalMessage
    from pregon.causal.peer_bytes import encode_message

    honest = encode_message(CausalMessage(Stamp(member, 2)), 0, b"to one")
    return honest, encode_message(CausalMessage(Stamp(member, 2), (Stamp(10**9, 10**9),)), 0, b"to another")


def test_what_only_followed_in_a_dead_members_own_words_from_what_nobody_got_is_dropped_by_all() -> None:
    options = PeerOptions(forget_ms=8_000)
    net = Network()
    net.group(1, 2, 3, options=options)
    net.is_cut = lambda one, other: one == 3
    net.say(3, b"nobody gets this")
    net.is_cut = lambda one, other: other == 2
    net.say(3, b"and this, which only one gets, must wait for it")
    net.run(100)
    net.crash(3)
    net.is_cut = lambda one, other: False

    net.run(options.dead_ms + 4_000)
    waits = [len(net.peers[me].member.held) for me in (1, 2)]
    net.run(options.forget_ms + options.dead_ms + 4_000)

    assert waits == [1, 0]
    assert net.shown(1) == net.shown(2) == []
    assert all(3 not in net.peers[me].members for me in (1, 2))
    assert len(net.peers[1].member.held) == 0
