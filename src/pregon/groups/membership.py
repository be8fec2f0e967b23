"""Joining and leaving, as in figure 3 of the model: announced, started with everybody's clock, and then in.

    joining (p)     the hub tells all members that p wants to join
    start           p is answered with the clock of each member, and with what its first message depends on
    joined (p)      p's first message: from then on it is a member, for everybody who is shown it
    leaving, left   the same the other way round

The hub answers for all members, because it has the messages of all: nobody waits for anybody. For a hosted member the
hub also says `joined` and `left`. All run in the committer's thread, in one transaction.
"""

from __future__ import annotations

import msgspec

from pregon.causal.stamps import Stamp, encode_stamps
from pregon.errors import BadRequest, Forbidden, LimitReached, NotAMember
from pregon.groups.people import Person
from pregon.groups.roll import JOINING as WAITS
from pregon.groups.roll import OUT, Roll, Rolled
from pregon.groups.rolls import Rolls, Words, insert_rolled
from pregon.limits import GROUPS_OF_PARTICIPANT_MAX
from pregon.model.events import JSON_CONTENT_TYPE
from pregon.model.group import GONE, HOSTED, INVITED, JOINED, JOINING, LEAVING, LEFT, NATIVE, fold_nick, topic_of
from pregon.store import groups as rows
from pregon.store.catalog import delete_subscription
from pregon.store.transaction import Transaction
from pregon.wire.groups import Join, Joined, Sent


def require_invited(roll: Roll, person: Person, caller_name: str) -> None:
    """Raises Forbidden for who may not join."""
    if roll.pair:
        # Names change hands; who the two are does not.
        if str(person.id) not in roll.pair.split():
            raise Forbidden(f"{roll.entry.name} is a private conversation: it is for the two who have it")
        return
    if roll.entry.access != INVITED:
        return
    names = {fold_nick(name) for name in roll.entry.allowed}
    if fold_nick(person.name) not in names and not (caller_name and caller_name in roll.entry.allowed):
        raise Forbidden(f"{roll.entry.name} is by invitation: ask who runs it to let {person.name} in")


def join(transaction: Transaction, rolls: Rolls, person: Person, wanted: Join, caller_name: str) -> Joined:
    """Become a member, or come back as one."""
    roll = rolls.require(transaction, wanted.group)
    there = roll.of_participant(person.id)
    if wanted.kind == NATIVE and wanted.member:
        _check_state(there, wanted)
    if there is None:
        require_invited(roll, person, caller_name)
        require_room(transaction, person)
    elif _is_same(there, wanted):
        return answer(roll, there, is_back=there.state != WAITS)
    elif there.kind != wanted.kind and there.state != WAITS:
        return _convert(transaction, rolls, roll, there, wanted.kind)
    return enter(transaction, rolls, roll, person, wanted.kind, replaced=there)


def _check_state(there: Rolled | None, wanted: Join) -> None:
    """Raises for who comes with the state of a member that it is not, or with one older than what was sent since."""
    if there is None or there.member != wanted.member:
        raise NotAMember(f"you are no longer member {wanted.member} of {wanted.group}: join it anew, without a state")
    if wanted.number < there.number:
        raise BadRequest(
            f"member {there.member} has sent {there.number} messages, and you say {wanted.number}: this state is "
            "too old to go on from; join anew, without a state"
        )


def require_room(transaction: Transaction, person: Person) -> None:
    """Raises LimitReached for who is in as many groups as one may be."""
    groups = rows.list_memberships(transaction.connection, person.id, GROUPS_OF_PARTICIPANT_MAX)
    if len(groups) >= GROUPS_OF_PARTICIPANT_MAX:
        raise LimitReached(f"{person.name} is in {GROUPS_OF_PARTICIPANT_MAX} groups, as many as one may be: leave one")


def _is_same(there: Rolled, wanted: Join) -> bool:
    """Whether who comes is the member that is there: a native one must have its clock, or have said nothing yet."""
    if there.kind != wanted.kind:
        return False
    return there.kind == HOSTED or wanted.member == there.member or there.state == WAITS


def enter(
    transaction: Transaction, rolls: Rolls, roll: Roll, person: Person, kind: str, replaced: Rolled | None = None
) -> Joined:
    """Give a participant its number, and tell the others; a hosted member is in at once."""
    rolled = roll.enter(person.id, person.name, kind)
    insert_rolled(transaction.connection, roll.id, rolled)
    if replaced is not None:
        # It came back without its state: as another, because nobody can tell what it had sent.
        strike(transaction, rolls, roll, replaced, "it came back without its state")
        roll.put(rolled)
    rolled.joined_seq = rolls.say_as_hub(transaction, roll, JOINING, {"member": rolled.member, "name": rolled.name})
    if kind == HOSTED:
        after = roll.window.after(rolled.member, roll.head_seq, 0)
        rolled.sent_seq = rolled.seen_seq = roll.head_seq
        _say(transaction, rolls, roll, rolled, (after, JOINED))
    return answer(roll, rolled, is_back=False)


def _convert(transaction: Transaction, rolls: Rolls, roll: Roll, there: Rolled, kind: str) -> Joined:
    """Another works out its dependencies from now on; it is the same member."""
    if kind not in (NATIVE, HOSTED) or (kind == HOSTED and roll.entry.stride > 1):
        raise BadRequest(f"a member of {roll.entry.name} cannot be {kind[:40]!r}")
    joined = answer(roll, there, is_back=True)
    there.kind = kind
    # What a native member had seen when it last sent only it knows. All that is maximal and its own last message do
    # not follow from each other, so that nothing too much is named if it has seen that message.
    there.sent_seq = 0
    rolls.touch(transaction, roll, there)
    return joined


def set_subscriber(transaction: Transaction, rolls: Rolls, person: Person, wanted: Join) -> None:
    """The group is pushed to this subscriber for a member."""
    roll = rolls.require(transaction, wanted.group)
    rolled = roll.require_member(person.id)
    rolled.subscriber = wanted.subscriber
    rolls.touch(transaction, roll, rolled)


def note_seen(transaction: Transaction, rolls: Rolls, person: Person, group: str, seen_seq: int) -> None:
    """A member has seen the log up to here."""
    roll = rolls.require(transaction, group)
    rolled = roll.of_participant(person.id)
    if rolled is not None and rolled.seen_seq < seen_seq <= roll.head_seq:
        rolled.seen_seq = seen_seq
        rolls.touch(transaction, roll, rolled)


def strike(transaction: Transaction, rolls: Rolls, roll: Roll, rolled: Rolled, reason: str) -> None:
    """The hub takes a member off the roll, and tells the others."""
    roll.strike(rolled)
    about = {"member": rolled.member, "name": rolled.name, "reason": reason}
    rolled.left_seq = rolls.say_as_hub(transaction, roll, GONE, about)
    end_push(transaction, roll, rolled)


def end_push(transaction: Transaction, roll: Roll, rolled: Rolled) -> None:
    """Nothing is pushed any more to the subscriber of a member that is out, unless it is another member's too."""
    others = (one for one in roll.members.values() if one.state != OUT)
    if not rolled.subscriber or any(one.subscriber == rolled.subscriber for one in others):
        return
    # What was settled before is written while there is a subscription.
    transaction.settle()
    delete_subscription(transaction.connection, topic_of(roll.entry.name), rolled.subscriber)
    transaction.is_catalogue_changed = True


def remove(transaction: Transaction, rolls: Rolls, group: str, member: int) -> Rolled | None:
    """The hub takes a member off the roll because an operator says so; None if there is no such member."""
    roll = rolls.require(transaction, group)
    rolled = roll.members.get(member)
    if rolled is None or rolled.state == OUT or member == roll.hub_number:
        return None
    strike(transaction, rolls, roll, rolled, "it was taken off")
    return rolled


def leave(transaction: Transaction, rolls: Rolls, person: Person, group: str) -> Sent:
    """A hosted member leaves; a native one says that it will."""
    roll = rolls.require(transaction, group)
    rolled = roll.require_member(person.id)
    if rolled.state == WAITS:
        strike(transaction, rolls, roll, rolled, "it never joined")
        return Sent(seq=roll.head_seq)
    if rolled.kind == NATIVE:
        seq = rolls.say_as_hub(transaction, roll, LEAVING, {"member": rolled.member, "name": rolled.name})
        return Sent(seq=seq)
    after = roll.window.after(rolled.member, roll.head_seq, rolled.sent_seq)
    left = _say(transaction, rolls, roll, rolled, (after, LEFT))
    end_push(transaction, roll, rolled)
    return left


def _say(
    transaction: Transaction, rolls: Rolls, roll: Roll, rolled: Rolled, what: tuple[tuple[Stamp, ...], str]
) -> Sent:
    after, kind = what
    body = msgspec.json.encode({"member": rolled.member, "name": rolled.name})
    seq = rolls.say(transaction, roll, rolled, after, Words(kind=kind, body=body, content_type=JSON_CONTENT_TYPE))
    return Sent(seq=seq, stamp=f"{rolled.member}:{rolled.number}", after=encode_stamps(after))


def answer(roll: Roll, rolled: Rolled, *, is_back: bool) -> Joined:
    """As whom one is a member, and where one begins."""
    entry = roll.entry
    return Joined(
        group=entry.name,
        member=rolled.member,
        seq=roll.head_seq,
        first_seq=1 if entry.history else rolled.joined_seq,
        number=rolled.number,
        seen_seq=rolled.seen_seq,
        clock=roll.clock(),
        highest=roll.number_of(roll.numbered - 1),
        frontier=encode_stamps(roll.window.after(rolled.member, roll.head_seq, rolled.sent_seq)),
        topic=topic_of(entry.name),
        traced=entry.traced,
        is_back=is_back,
    )
