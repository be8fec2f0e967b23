"""Members of a group without a hub that come back with what they remember."""

import msgspec
import pytest

from pregon.causal.peer import Peer
from pregon.causal.peer_outputs import Missed, PeerOptions, PeerState
from pregon.causal.stamps import Stamp
from pregon.errors import BadRequest

from .causal_peers import OPTIONS, Network


def come_back(net: Network, state: PeerState, options: PeerOptions = OPTIONS) -> Peer:
    """A peer with a state on the network, asking to be let in again."""
    peer = net.add(Peer.resume(state, net.now_ms, options))
    net.do(peer.me, peer.join(net.now_ms))
    return peer


def test_who_comes_back_soon_goes_on_and_nobody_noticed() -> None:
    net = Network()
    net.group(1, 2, 3)
    state = net.crash(3).state()
    net.say(1, b"while it was away")
    net.run(1_000)

    come_back(net, state)
    net.run(2_000)
    net.say(3, b"back")
    net.run(1_000)

    assert net.shown(3) == [b"while it was away"]
    assert net.shown(1) == net.shown(2)[-1:] == [b"back"]
    assert ("Gone", 3) not in net.events(1)


def test_who_comes_back_after_it_was_missed_says_so_and_has_everything() -> None:
    net = Network()
    net.group(1, 2, 3)
    state = net.crash(3).state()
    for number in range(10):
        net.say(1, b"%d" % number)
        net.run(1_000)

    come_back(net, state)
    net.run(3_000)

    assert len(net.shown(3)) == 10
    assert net.events(1)[-2:] == [("Gone", 3), ("Joined", 3)]
    assert net.peers[1].members[3].is_here


def test_its_own_last_message_that_nobody_has_is_not_lost() -> None:
    net = Network()
    net.group(1, 2, 3)
    net.is_cut = lambda one, other: True
    net.say(3, b"nobody heard this")
    state = net.crash(3).state()
    net.is_cut = lambda one, other: False

    come_back(net, state)
    net.run(3_000)

    assert net.shown(1) == net.shown(2) == [b"nobody heard this"]


def test_it_does_not_speak_under_a_number_that_it_has_used_after_its_state_was_kept() -> None:
    net = Network()
    net.group(1, 2, 3)
    state = net.peers[3].state()
    net.say(3, b"said after it was kept")
    net.run(100)
    net.crash(3)

    come_back(net, state)
    net.until(lambda: net.peers[3].is_in)
    stamp = net.say(3, b"said now")
    net.run(2_000)

    assert stamp == Stamp(3, 3)
    assert net.shown(1) == net.shown(2) == [b"said after it was kept", b"said now"]
    assert [net.peers[me].counts.conflicts for me in (1, 2)] == [0, 0]


def test_what_it_had_reported_and_does_not_remember_is_told_as_missed() -> None:
    net = Network()
    net.group(1, 2, 3)
    state = net.peers[3].state()
    net.say(1, b"seen, reported and forgotten by all")
    net.run(3_000)
    net.crash(3)

    come_back(net, state)
    net.run(3_000)
    net.say(1, b"new")
    net.run(1_000)

    assert Missed(1, 2, 2) in net.told[3]
    assert net.shown(3)[-1] == b"new"


def test_who_comes_back_too_late_must_join_as_another() -> None:
    options = PeerOptions(forget_ms=6_000)
    net = Network()
    net.group(1, 2, 3, options=options)
    state = net.crash(3).state()
    net.run(options.dead_ms + options.forget_ms + 5_000)

    come_back(net, state, options)
    net.run(2_000)

    assert net.refusals(3) == ["not_found"]
    assert not net.peers[3].is_in


def test_who_has_left_does_not_come_back() -> None:
    net = Network()
    net.group(1, 2, 3)
    state = net.peers[3].state()
    net.leave(3)
    net.run(500)
    net.crash(3)

    come_back(net, state)
    net.run(2_000)

    assert net.refusals(3) == ["not_found"]


def test_who_was_alone_is_in_at_once() -> None:
    net = Network()
    net.found(1)
    net.say(1, b"hola")
    state = net.crash(1).state()

    peer = come_back(net, state)

    assert peer.is_in
    assert net.say(1, b"otra vez") == Stamp(1, 3)


def test_one_who_waits_for_answers_is_not_in() -> None:
    net = Network()
    net.group(1, 2)
    state = net.crash(2).state()
    net.is_cut = lambda one, other: True

    peer = come_back(net, state)
    net.run(10_000)

    assert not peer.is_in


def test_a_message_that_only_it_had_from_a_dead_member_comes_back_with_it() -> None:
    net = Network()
    net.group(1, 2, 3)
    net.drops = lambda source, to, frame: source == 1 and to == 2
    net.say(1, b"only three has it")
    net.run(50)
    state = net.peers[3].state()
    net.crash(1)
    net.crash(3)
    net.drops = lambda source, to, frame: False
    net.run(1_000)

    come_back(net, state)
    net.run(10_000)

    assert net.shown(2) == [b"only three has it"]


def test_a_state_goes_through_bytes() -> None:
    net = Network()
    net.group(1, 2, 3)
    net.is_cut = lambda one, other: True
    net.say(3, b"hola")
    state = net.crash(3).state()

    again = msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=PeerState)

    assert again == state
    assert again.frames


def test_one_who_never_was_in_has_no_state() -> None:
    with pytest.raises(BadRequest, match="not a member"):
        Peer(1, "ana", 0).state()


def test_what_was_delivered_and_not_shown_is_nothing_that_its_messages_follow_from() -> None:
    later = PeerOptions(shows_later=True)
    net = Network()
    net.group(1, 2, options=later)
    net.say(1, b"not looked at")
    net.run(500)
    before = net.say(2, b"concurrent")
    for output in net.told[2]:
        if hasattr(output, "message") or hasattr(output, "delivery"):
            net.peers[2].shown(output)
    after = net.say(2, b"an answer")
    net.run(500)

    said = {one.delivery.message.stamp: one.delivery.message for one in net.told[1] if hasattr(one, "delivery")}

    assert said[before].after == ()
    assert said[after].after == (Stamp(1, 2),)
