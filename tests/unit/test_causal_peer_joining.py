"""Who gets into a group without a hub, and where it begins."""

import pytest

from pregon.causal.peer import Peer
from pregon.causal.peer_bytes import decode_frame, encode_frame
from pregon.causal.peer_frames import JoinFrame, MessageFrame, RefusedFrame, StartFrame
from pregon.causal.peer_outputs import Delivered, Inside, Joined, PeerOptions, Refused, Send
from pregon.causal.stamps import Stamp
from pregon.errors import BadName, BadRequest

from .causal_peers import Network


def sent_frames(outputs: list[object]) -> list[object]:
    """What a peer sends, read."""
    return [decode_frame(one.frame) for one in outputs if isinstance(one, Send)]


def test_the_founder_is_in_at_once_and_its_first_message_says_so() -> None:
    peer = Peer(1, "ana", 0)

    outputs = peer.found(0)

    [said] = sent_frames(outputs)
    assert isinstance(said, MessageFrame)
    assert said.message.stamp == Stamp(1, 1)
    assert Inside() in outputs
    assert peer.is_in
    assert list(peer.members) == [1]


def test_who_asks_is_answered_with_the_clock_and_the_members() -> None:
    founder = Peer(1, "ana", 0)
    founder.found(0)
    founder.broadcast(b"before", 0)

    [answer] = sent_frames(founder.receive(encode_frame(JoinFrame(2, 0, "luis", "", {})), 1))

    assert isinstance(answer, StartFrame)
    assert (answer.sender, answer.to, answer.clock) == (1, 2, {1: 2})
    assert [card.name for card in answer.cards] == ["ana"]


def test_a_newcomer_is_shown_what_is_sent_after_and_not_what_was_before() -> None:
    net = Network()
    net.found(1)
    net.say(1, b"before")
    net.run(500)

    net.join(2)
    net.until(lambda: net.peers[2].is_in)
    net.say(1, b"after")
    net.run(1_000)

    assert net.shown(2) == [b"after"]
    assert net.events(1) == [("Joined", 2)]


def test_a_newcomer_waits_for_the_answer_of_every_member() -> None:
    net = Network()
    net.group(1, 2, 3)
    net.drops = lambda source, to, frame: source == 3 and to == 4

    net.join(4)
    net.run(1_000)
    waited = not net.peers[4].is_in
    net.drops = lambda source, to, frame: False
    net.run(1_000)

    assert waited
    assert net.peers[4].is_in


def test_a_member_that_never_answers_is_waited_for_only_so_long() -> None:
    net = Network()
    net.group(1, 2, 3)
    net.crash(3)

    net.join(4)
    net.run(4_000)

    assert net.peers[4].is_in
    assert set(net.peers[4].members) == {1, 2, 3, 4}


def test_nobody_is_held_up_while_one_joins() -> None:
    net = Network()
    net.group(1, 2, 3)
    net.drops = lambda source, to, frame: 4 in (source, to) and source == 3

    net.join(4)
    for number in range(20):
        net.say(1 + number % 3, b"%d" % number)
        net.run(50)

    assert not net.peers[4].is_in
    assert all(len(net.shown(me)) == 20 - len([n for n in range(20) if 1 + n % 3 == me]) for me in (1, 2, 3))


def test_several_join_at_once_under_traffic_and_see_each_other() -> None:
    net = Network(3, loss=0.1)
    net.group(1, 2)
    for me in (3, 4, 5, 6):
        net.join(me)
    for number in range(40):
        net.say(1 + number % 2, b"%d" % number)
        net.run(40)

    net.run(5_000)

    assert all(set(peer.members) == {1, 2, 3, 4, 5, 6} for peer in net.peers.values())
    assert len({tuple(sorted(peer.member.clock.items())) for peer in net.peers.values()}) == 1


def test_what_a_newcomer_needs_is_kept_for_it_by_all_so_a_dead_sender_does_not_matter() -> None:
    net = Network()
    net.group(1, 2, 3)
    net.drops = lambda source, to, frame: to == 4 and source == 3
    net.join(4)
    net.run(200)

    # What 3 says now reaches 1 and 2, who have answered 4 already; then 3 is no more.
    net.say(3, b"last words")
    net.run(100)
    net.crash(3)
    net.run(5_000)

    assert net.peers[4].is_in
    assert b"last words" in net.shown(4)


def test_a_member_of_whom_another_saw_more_is_asked_again() -> None:
    net = Network()
    net.group(1, 2)
    newcomer = Peer(3, "eva", net.now_ms)
    newcomer.join(net.now_ms)
    cards = tuple(net.peers[1]._standing.roster.cards())
    group = net.peers[1]._standing.group

    first = newcomer.receive(encode_frame(StartFrame(1, group, 3, {1: 1, 2: 1}, cards)), net.now_ms)
    second = newcomer.receive(encode_frame(StartFrame(2, group, 3, {1: 5, 2: 1}, cards)), net.now_ms)
    asked_again = newcomer.tick(net.now_ms + 400)
    third = newcomer.receive(encode_frame(StartFrame(1, group, 3, {1: 6, 2: 1}, cards)), net.now_ms + 500)

    assert Inside() not in [*first, *second, *asked_again]
    assert any(isinstance(frame, JoinFrame) for frame in sent_frames(asked_again))
    assert Inside() in third
    assert newcomer.member.clock == {1: 5, 2: 1, 3: 1}


def test_a_lie_about_another_one_does_not_move_where_a_newcomer_begins() -> None:
    net = Network()
    net.group(1, 2)
    newcomer = Peer(3, "eva", net.now_ms)
    newcomer.join(net.now_ms)
    cards = tuple(net.peers[1]._standing.roster.cards())
    group = net.peers[1]._standing.group

    newcomer.receive(encode_frame(StartFrame(2, group, 3, {1: 10**15, 2: 1}, cards)), net.now_ms)
    newcomer.receive(encode_frame(StartFrame(1, group, 3, {1: 4, 2: 1}, cards)), net.now_ms)
    outputs = newcomer.tick(net.now_ms + 3_001)

    assert Inside() in outputs
    assert newcomer.member.clock[1] == 4
    [joined] = [frame for frame in sent_frames(outputs) if isinstance(frame, MessageFrame)]
    assert joined.message.after == (Stamp(1, 4), Stamp(2, 1))


@pytest.mark.parametrize("end", ["leaves", "dies", "stays"])
def test_a_number_that_is_or_was_in_use_is_refused(end: str) -> None:
    options = PeerOptions(forget_ms=5_000)
    net = Network()
    net.group(1, 2, 3, options=options)
    if end == "leaves":
        net.leave(3)
        net.run(2_000)
    if end == "dies":
        net.crash(3)
        net.run(30_000)
    impostor = Peer(3, "mallory", net.now_ms, options)

    [request] = impostor.join(net.now_ms)
    [answer] = net.peers[1].receive(request.frame, net.now_ms)
    outputs = impostor.receive(answer.frame, net.now_ms)

    assert [type(one) for one in outputs] == [Refused]
    assert outputs[0].error.code == "already_exists"
    assert not impostor.is_in


def test_a_refusal_that_comes_after_it_is_in_does_not_put_it_out() -> None:
    net = Network()
    net.group(1, 2)

    net.put(1, 2, encode_frame(RefusedFrame(1, 2, "already_exists", "a late answer to a repeated request")))

    assert net.peers[2].is_in


def test_no_more_may_be_joining_at_once_than_the_limit() -> None:
    founder = Peer(1, "ana", 0, PeerOptions(joining_max=2))
    founder.found(0)

    answers = [sent_frames(founder.receive(encode_frame(JoinFrame(me, 0, "x", "", {})), 1))[0] for me in (2, 3, 4)]

    assert [type(answer) for answer in answers] == [StartFrame, StartFrame, RefusedFrame]
    assert answers[2].code == "limit_reached"


def test_one_who_asks_and_is_never_heard_of_again_is_not_waited_for() -> None:
    net = Network()
    net.group(1, 2)
    net.join(3)
    net.crash(3)
    net.say(1, b"hola")
    net.run(2_000)
    kept_meanwhile = net.peers[1].retained_count

    net.run(15_000)

    assert kept_meanwhile > 0
    assert net.peers[1].retained_count == 0


def test_two_groups_that_meet_stay_two() -> None:
    net = Network()
    net.found(1)
    net.found(2)
    net.say(1, b"uno")
    net.say(2, b"dos")
    net.run(5_000)

    net.say(1, b"tres")
    net.run(5_000)

    assert net.shown(1) == net.shown(2) == []
    assert set(net.peers[1].members) == {1}
    assert set(net.peers[2].members) == {2}
    assert net.peers[1].counts.foreign > 0


def test_members_change_in_the_causal_order_of_the_messages() -> None:
    net = Network(5, delay_ms=400)
    net.group(1, 2)
    net.join(3)
    net.until(lambda: net.peers[3].is_in)
    net.say(3, b"soy nueva")
    net.run(3_000)

    told = [one for one in net.told[2] if isinstance(one, Joined | Delivered)]

    assert isinstance(told[-2], Joined)
    assert isinstance(told[-1], Delivered)


@pytest.mark.parametrize("name", ["", " ana", "a\nb", "x" * 33])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(BadName):
        Peer(1, name, 0)


@pytest.mark.parametrize("me", [0, -1, 2**62 + 1])
def test_a_number_that_is_none_is_refused(me: int) -> None:
    with pytest.raises(BadRequest):
        Peer(me, "ana", 0)


def test_nothing_is_sent_before_it_is_in() -> None:
    peer = Peer(1, "ana", 0)

    with pytest.raises(BadRequest, match="cannot send"):
        peer.broadcast(b"hola", 0)


def test_times_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(BadRequest, match="beat_ms"):
        PeerOptions(beat_ms=4_000, dead_ms=5_000)
