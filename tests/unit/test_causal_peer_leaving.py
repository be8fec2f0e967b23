"""Members that leave, die, are only thought dead, and are forgotten."""

from pregon.causal.message import CausalMessage
from pregon.causal.peer_bytes import encode_message
from pregon.causal.peer_outputs import Missed, PeerOptions
from pregon.causal.stamps import Stamp

from .causal_peers import OPTIONS, Network

SHORT = PeerOptions(forget_ms=8_000)


def test_who_leaves_stays_until_the_others_have_its_last_words() -> None:
    net = Network()
    net.group(1, 2, 3)
    net.drops = lambda source, to, frame: to == 2

    net.say(3, b"last words")
    net.leave(3)
    net.run(1_500)
    is_there = not net.peers[3].is_done
    net.drops = lambda source, to, frame: False
    net.run(3_000)

    assert is_there
    assert net.peers[3].is_done
    assert net.shown(2) == [b"last words"]
    assert net.events(2)[-1] == ("Left", 3)


def test_who_leaves_goes_after_a_while_whatever_the_others_have() -> None:
    net = Network()
    net.group(1, 2, 3)
    net.crash(2)

    net.leave(3)
    net.run(OPTIONS.leave_ms + 500)

    assert net.peers[3].is_done


def test_leaving_is_the_last_message_and_comes_after_all_that_it_saw() -> None:
    net = Network()
    net.group(1, 2, 3)
    net.say(1, b"hola")
    net.run(500)

    net.leave(3)
    net.run(1_000)

    [left] = [one for one in net.told[2] if type(one).__name__ == "Left"]
    assert Stamp(1, 2) in left.message.after


def test_who_has_left_is_forgotten_by_all_and_takes_no_more_room() -> None:
    net = Network()
    net.group(1, 2, 3)

    net.leave(3)
    net.run(3_000)

    assert all(3 not in net.peers[me].members for me in (1, 2))
    assert all(3 not in net.peers[me].member.clock for me in (1, 2))
    assert all(net.peers[me].retained_count == 0 for me in (1, 2))


def test_several_leave_at_once_under_traffic() -> None:
    net = Network(2, loss=0.1)
    net.group(1, 2, 3, 4, 5)
    for number in range(30):
        net.say(1 + number % 2, b"%d" % number)
        net.run(30)
        if number == 10:
            for me in (3, 4, 5):
                net.leave(me)

    net.run(10_000)

    assert set(net.peers[1].members) == set(net.peers[2].members) == {1, 2}
    assert len(net.shown(1)) == len(net.shown(2)) == 15


def test_a_silent_member_is_gone_for_all_and_said_so_once() -> None:
    net = Network()
    net.group(1, 2, 3, 4)

    net.crash(4)
    net.run(OPTIONS.dead_ms + 2_000)

    assert [net.events(me).count(("Gone", 4)) for me in (1, 2, 3)] == [1, 1, 1]
    assert all(not net.peers[me].members[4].is_here for me in (1, 2, 3))
    # The one with the lowest number speaks first, and the others hear it before they would.
    assert [net.peers[me].member.clock[me] for me in (1, 2, 3)] == [2, 1, 1]


def test_what_a_dead_member_said_to_one_reaches_all() -> None:
    net = Network()
    net.group(1, 2, 3)
    net.drops = lambda source, to, frame: source == 3 and to == 1

    net.say(3, b"only for two")
    net.run(150)
    net.crash(3)
    net.drops = lambda source, to, frame: False
    net.run(3_000)

    assert net.shown(1) == [b"only for two"]


def test_the_news_that_one_is_gone_comes_after_what_it_said() -> None:
    net = Network(delay_ms=400)
    net.group(1, 2, 3)
    net.drops = lambda source, to, frame: source == 3 and to == 2
    net.say(3, b"to one only")
    net.run(500)
    net.crash(3)
    net.run(OPTIONS.dead_ms + 5_000)

    kinds = [type(one).__name__ for one in net.told[2]]

    assert kinds.index("Delivered") < kinds.index("Gone")


def test_a_dead_member_is_forgotten_when_it_can_no_longer_come_back() -> None:
    net = Network()
    net.group(1, 2, 3, options=SHORT)
    net.crash(3)

    net.run(SHORT.dead_ms + 2_000)
    known = [3 in net.peers[me].members for me in (1, 2)]
    net.say(1, b"kept for who may come back")
    net.run(1_000)
    kept = net.peers[1].retained_count
    net.run(SHORT.forget_ms + 2_000)

    assert known == [True, True]
    assert kept > 0
    assert all(3 not in net.peers[me].members and net.peers[me].retained_count == 0 for me in (1, 2))


def test_who_is_only_thought_dead_says_that_it_is_back_and_misses_nothing() -> None:
    net = Network()
    net.group(1, 2, 3)
    net.is_cut = lambda one, other: (one == 3) is not (other == 3)
    net.run(OPTIONS.dead_ms + 3_000)
    net.say(1, b"while it was away")
    net.run(500)
    net.say(3, b"alone")
    net.run(500)

    net.is_cut = lambda one, other: False
    net.run(5_000)

    assert net.shown(3) == [b"while it was away"]
    assert net.shown(1) == net.shown(2)[-1:] == [b"alone"]
    assert all(view.is_here for peer in net.peers.values() for view in peer.members.values())
    assert ("Joined", 3) in net.events(1)[net.events(1).index(("Gone", 3)) :]


def test_both_halves_of_a_group_that_was_cut_have_everything_when_it_is_whole() -> None:
    net = Network(7, loss=0.05)
    net.group(1, 2, 3, 4)
    net.is_cut = lambda one, other: (one < 3) is not (other < 3)
    for number in range(100):
        net.say(1 + number % 4, b"%d" % number)
        net.run(100)

    net.is_cut = lambda one, other: False
    net.run(15_000)

    assert [len(net.shown(me)) for me in (1, 2, 3, 4)] == [75, 75, 75, 75]
    assert all(view.is_here for peer in net.peers.values() for view in peer.members.values())
    assert all(peer.retained_count == 0 for peer in net.peers.values())


def test_halves_that_have_forgotten_each_other_go_on_apart_and_whole() -> None:
    net = Network()
    net.group(1, 2, 3, 4, options=SHORT)
    net.is_cut = lambda one, other: (one < 3) is not (other < 3)
    net.run(SHORT.dead_ms + SHORT.forget_ms + 10_000)

    net.is_cut = lambda one, other: False
    net.say(1, b"uno")
    net.say(3, b"tres")
    net.run(5_000)

    assert [net.shown(me) for me in (1, 2, 3, 4)] == [[], [b"uno"], [], [b"tres"]]
    assert set(net.peers[1].members) == {1, 2}
    assert set(net.peers[3].members) == {3, 4}


def test_who_stood_still_for_long_does_not_take_the_others_for_dead() -> None:
    net = Network()
    net.group(1, 2, 3)
    peer = net.peers[3]
    net.is_cut = lambda one, other: 3 in (one, other)
    del net._ticks_ms[3]
    net.run(OPTIONS.dead_ms + 3_000)

    net.is_cut = lambda one, other: False
    net._ticks_ms[3] = net.now_ms
    net.run(3_000)

    assert ("Gone", 1) not in net.events(3)
    assert ("Gone", 2) not in net.events(3)
    assert peer.members[3].is_here and net.peers[1].members[3].is_here


def test_who_was_forgotten_while_it_stood_still_is_told_to_join_as_another() -> None:
    net = Network()
    net.group(1, 2, 3, options=SHORT)
    net.is_cut = lambda one, other: 3 in (one, other)
    del net._ticks_ms[3]
    net.run(SHORT.dead_ms + SHORT.forget_ms + 5_000)

    net.is_cut = lambda one, other: False
    net._ticks_ms[3] = net.now_ms
    net.run(3_000)

    assert net.refusals(3) == ["not_found"]
    assert not net.peers[3].is_in


def test_tombstones_are_bounded() -> None:
    options = PeerOptions(tombstones_max=3, forget_ms=5_000)
    net = Network()
    net.group(1, 2, options=options)

    for me in range(10, 16):
        net.join(me, options)
        net.until(lambda me=me: net.peers[me].is_in)
        net.leave(me)
        net.until(lambda me=me: net.peers[me].is_done)
        net.crash(me)
        net.run(1_500)

    assert list(net.peers[1]._standing.roster.tombstones) == [13, 14, 15]


def test_what_turns_up_of_one_who_is_forgotten_is_told_as_missed() -> None:
    net = Network()
    net.group(1, 2, 3, options=SHORT)
    net.crash(3)
    net.run(SHORT.dead_ms + SHORT.forget_ms + 3_000)
    late = encode_message(CausalMessage(Stamp(2, net.peers[2].member.clock[2] + 1), (Stamp(3, 4),)), 0, b"I saw more")

    net.put(2, 1, late)
    again = encode_message(CausalMessage(Stamp(2, net.peers[2].member.clock[2] + 2), (Stamp(3, 4),)), 0, b"and again")
    net.put(2, 1, again)

    assert [one for one in net.told[1] if isinstance(one, Missed)] == [Missed(3, 2, 4)]
    assert net.shown(1) == [b"I saw more", b"and again"]
