"""Groups and participants are made, changed and given up. In the committer's thread, as changes of the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from pregon.errors import AlreadyExists, BadName, BadRequest, LimitReached, NotFound
from pregon.groups import membership
from pregon.groups.people import Person
from pregon.groups.roll import IN, Roll, Rolled
from pregon.groups.rolls import Rolls, insert_rolled
from pregon.groups.tokens import make_token, write_token
from pregon.hub import registry
from pregon.hub.directory import Directory
from pregon.limits import GROUPS_MAX, NAME_CHARACTERS_MAX, PARTICIPANTS_MAX
from pregon.model.catalog import Topic
from pregon.model.group import (
    ACCESS,
    HOSTED,
    INVITED,
    PRIVATE_PREFIX,
    RENAMED,
    TOPIC_PREFIX,
    Group,
    Participant,
    check_nick,
    fold_nick,
    topic_of,
)
from pregon.model.ids import new_id
from pregon.model.names import check_description, check_name
from pregon.security.keys import OWNER_KINDS, is_secret
from pregon.store import catalog
from pregon.store import groups as rows
from pregon.store.transaction import Transaction
from pregon.wire.groups import Joined

HUB_NAME = "pregon"
STRIDE_MAX = 64
_CHANGEABLE = frozenset({"description", "access", "allowed", "history", "traced"})
_ALLOWED_MAX = 1_000
_RESERVED = frozenset({"socket"})
CatalogueChange = Callable[[Transaction, Directory], Any]


def check_group(entry: Group) -> Group:
    """The entry, if it makes sense; raises BadName or BadRequest."""
    check_name("group", entry.name)
    is_taken = entry.name in _RESERVED or entry.name.startswith(PRIVATE_PREFIX) != entry.is_private
    if len(entry.name) > NAME_CHARACTERS_MAX - len(TOPIC_PREFIX) or is_taken:
        raise BadName(f"{entry.name[:60]!r} cannot be the name of a group: choose another, not as long")
    check_description(entry.description)
    if entry.access not in ACCESS:
        raise BadRequest(f"access is {' or '.join(ACCESS)}, not {entry.access[:40]!r}")
    if len(entry.allowed) > _ALLOWED_MAX:
        raise BadRequest(f"at most {_ALLOWED_MAX} names can be invited: open the group, or make several")
    for name in entry.allowed:
        check_nick(name)
    if not 1 <= entry.stride <= STRIDE_MAX or not 0 <= entry.offset < entry.stride:
        raise BadRequest(f"stride is how many hubs the group lives in, 1 to {STRIDE_MAX}; offset is which this one is")
    return entry


def create_group(rolls: Rolls, entry: Group) -> CatalogueChange:
    """The change that makes a group; one that is there with the same values is no error."""
    check_group(entry)

    def change(transaction: Transaction, directory: Directory) -> Group:
        row = rows.find_group(transaction.connection, entry.name)
        if row is not None:
            there = rows.entry_of(row)
            if msgspec.structs.replace(there, is_private=entry.is_private) != entry:
                raise AlreadyExists(f"the group {entry.name} exists with other values: update it")
            return there
        _make(transaction, directory, rolls, entry)
        return entry

    return change


def _make(transaction: Transaction, directory: Directory, rolls: Rolls, entry: Group, pair: str | None = None) -> Roll:
    connection = transaction.connection
    if rows.count_groups(connection) >= GROUPS_MAX:
        raise LimitReached(f"a hub has at most {GROUPS_MAX} groups: delete one that is not used")
    described = Topic(name=topic_of(entry.name), description=entry.description, restricted=True)
    there = registry.find_entry(connection, "topic", (described.name,))
    if isinstance(there, Topic) and there.head_seq == 0:
        # Somebody subscribed to it before there was a group: nothing was ever published there.
        values = {"description": described.description, "restricted": True}
        registry.change_entry("topic", (described.name,), values)(transaction, directory)
    else:
        registry.create(described)(transaction, directory)
    topic_id = catalog.require_id(connection, "topic", described.name)
    group_id = rows.insert_group(connection, entry, topic_id, pair, transaction.now_us)
    rolls.forget(entry.name)
    roll = rolls.require(transaction, entry.name)
    hub = Rolled(roll.hub_number, None, HUB_NAME, HOSTED, IN, 0)
    roll.numbered = 1
    roll.put(hub)
    insert_rolled(connection, group_id, hub)
    rows.mark_group(connection, group_id, "", roll.numbered)
    return roll


def update_group(rolls: Rolls, name: str, values: dict[str, Any]) -> CatalogueChange:
    """The change that gives a group other values; members stay."""
    wrong = sorted(set(values) - _CHANGEABLE)
    if wrong:
        raise BadRequest(f"{', '.join(wrong)[:200]} of a group cannot be changed")

    def change(transaction: Transaction, _directory: Directory) -> Group:
        roll = rolls.require(transaction, name)
        try:
            entry = check_group(msgspec.convert({**msgspec.to_builtins(roll.entry), **values}, Group))
        except msgspec.ValidationError as error:
            raise BadRequest(f"group: {error}") from error
        rows.update_group(transaction.connection, roll.id, entry)
        roll.entry = entry
        return entry

    return change


def delete_group(rolls: Rolls, name: str, forget_topic: CatalogueChange) -> CatalogueChange:
    """The change that gives a group up, with its messages; whether there was one, and whose it was."""

    def change(transaction: Transaction, directory: Directory) -> tuple[bool, list[int]]:
        row = rows.find_group(transaction.connection, name)
        if row is None:
            return False, []
        members = [one.participant_id for one in rows.list_members(transaction.connection, row.id)]
        rows.delete_group(transaction.connection, row.id)
        forget_topic(transaction, directory)
        rolls.forget(name)
        return True, [one for one in members if one is not None]

    return change


# Who takes part.


def enroll(transaction: Transaction, name: str, caller_name: str, own_secret: str = "") -> Participant:
    """Take part under a name that nobody has, or that one has oneself, as the same secret proves."""
    checked = _check_name(name)
    secret, kept = make_token(own_secret)
    there = rows.find_participant_by_name(transaction.connection, fold_nick(checked)) if own_secret else None
    if there is not None and there.caller == caller_name and is_secret(secret, there.secret_hash):
        return Participant(name=there.name, token=write_token(there.id, secret))
    _require_free(transaction, checked)
    if rows.count_participants(transaction.connection) >= PARTICIPANTS_MAX:
        raise LimitReached(f"a hub has at most {PARTICIPANTS_MAX} participants: retire those that are not used")
    participant_id = rows.insert_participant(
        transaction.connection,
        {
            "name": checked,
            "folded": fold_nick(checked),
            "secret_hash": kept,
            "caller": caller_name,
            "created_us": transaction.now_us,
        },
    )
    return Participant(name=checked, token=write_token(participant_id, secret))


def _check_name(name: str) -> str:
    checked = check_nick(name)
    kind, space, _ = fold_nick(checked).partition(" ")
    if space and kind in OWNER_KINDS:
        # Groups are for participants or for keys, by name: nobody may be taken for a key.
        raise BadName(f"{checked!r} could be taken for the key of a {kind}: choose another name")
    return checked


def _require_free(transaction: Transaction, name: str, but_for: int = 0) -> None:
    there = rows.find_participant_by_name(transaction.connection, fold_nick(name))
    if there is not None and there.id != but_for:
        raise AlreadyExists(f"somebody is called {there.name!r} already: choose another name")


def rename(transaction: Transaction, rolls: Rolls, person: Person, name: str) -> Participant:
    """Take part under another name, in every group at once."""
    checked = _check_name(name)
    _require_free(transaction, checked, person.id)
    if checked == person.name:
        return Participant(name=checked)
    rows.rename_participant(transaction.connection, person.id, checked, fold_nick(checked))
    for roll in _rolls_of(transaction, rolls, person):
        rolled = roll.require_member(person.id)
        rolled.name = checked
        rolls.touch(transaction, roll, rolled)
        about = {"member": rolled.member, "name": checked, "old": person.name}
        rolls.say_as_hub(transaction, roll, RENAMED, about)
    return Participant(name=checked)


def retire(transaction: Transaction, rolls: Rolls, person: Person) -> bool:
    """Take part no more: out of every group, and the name is free."""
    for roll in _rolls_of(transaction, rolls, person):
        membership.strike(transaction, rolls, roll, roll.require_member(person.id), "it takes part no more")
    # The rows of its members are written before it is gone, and then are nobody's.
    transaction.settle()
    rows.delete_participant(transaction.connection, person.id)
    return True


def _rolls_of(transaction: Transaction, rolls: Rolls, person: Person) -> list[Roll]:
    # Those that joined in this very transaction are not in the store yet, if they are not written.
    transaction.settle()
    found = rows.list_memberships(transaction.connection, person.id, GROUPS_MAX)
    return [rolls.require(transaction, row.name) for row in found]


def converse(rolls: Rolls, person: Person, with_: str) -> CatalogueChange:
    """The change that makes, or finds, the conversation of two; both are members. And the other one's id."""

    def change(transaction: Transaction, directory: Directory) -> tuple[Joined, int]:
        connection = transaction.connection
        other = rows.find_participant_by_name(connection, fold_nick(with_))
        if other is None:
            raise NotFound(f"nobody is called {with_[:60]!r} here")
        if other.id == person.id:
            raise BadRequest("a private conversation is with somebody else")
        low, high = sorted((person.id, other.id))
        pair = f"{low} {high}"
        name = rows.find_group_of_pair(connection, pair)
        roll = rolls.require(transaction, name) if name is not None else None
        both = (Person(other.id, other.name), person)
        missing = [one for one in both if roll is None or roll.of_participant(one.id) is None]
        for one in missing:
            membership.require_room(transaction, one)
        if roll is None:
            entry = Group(
                name=PRIVATE_PREFIX + new_id(),
                access=INVITED,
                allowed=(person.name, other.name),
                # What members are shown is in a topic that others read.
                traced=False,
                is_private=True,
            )
            roll = _make(transaction, directory, rolls, entry, pair)
        for one in missing:
            membership.enter(transaction, rolls, roll, one, HOSTED)
        return membership.answer(roll, roll.require_member(person.id), is_back=True), int(other.id)

    return change
