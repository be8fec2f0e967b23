"""Why a message waited, in words.

Promises:
- Only what the trace has is said: where it does not know, it says so.
- A cause that had to wait itself is explained in its turn, so many times and no more.
"""

from __future__ import annotations

from dataclasses import dataclass

from pregon.errors import BadRequest, NotFound
from pregon.groups.spacetime_words import check_language, say, write_span, write_time
from pregon.groups.trace import GroupTrace, TracedDelivery, TracedMessage

_CAUSES_MAX = 8


@dataclass(frozen=True, slots=True)
class _Known:
    """A trace by its names."""

    messages: dict[str, TracedMessage]
    deliveries: dict[tuple[int, str], TracedDelivery]
    names: dict[int, str]
    lang: str

    @classmethod
    def of(cls, trace: GroupTrace, lang: str) -> _Known:
        return cls(
            {one.stamp: one for one in trace.messages},
            {(one.member, one.stamp): one for one in trace.deliveries},
            dict(trace.members),
            check_language(lang),
        )


def explain(trace: GroupTrace, member: int, stamp: str, lang: str = "en") -> str:
    """Why a member was shown a message when it was, and not before; raises NotFound for what the trace has not."""
    known = _Known.of(trace, lang)
    if stamp not in known.messages:
        raise NotFound(
            f"there is no message {stamp} in this part of {trace.group}: choose another with --from and --to"
        )
    if member not in known.names:
        raise NotFound(f"{trace.group} has no member {member} in this part: `pregon group members` shows who there is")
    return _explain(known, member, known.messages[stamp])


def explain_all(trace: GroupTrace, stamp: str, lang: str = "en") -> list[str]:
    """The same for every member that says when it was shown the message, its sender first."""
    known = _Known.of(trace, lang)
    sender = known.messages[stamp].member if stamp in known.messages else 0
    others = [member for member, of in known.deliveries if of == stamp and member != sender and member in known.names]
    return [explain(trace, member, stamp, lang) for member in (sender, *sorted(others))]


def explain_held(trace: GroupTrace, sentences_max: int, lang: str = "en") -> list[str]:
    """Why each message that was held back was, in the order in which they were shown."""
    known = _Known.of(trace, lang)
    held = [one for one in known.deliveries.values() if one.was_held and one.stamp in known.messages]
    held.sort(key=lambda one: (one.delivered_us, one.member))
    return [
        _explain(known, one.member, known.messages[one.stamp])
        for one in held[:sentences_max]
        if one.member in known.names
    ]


def find_member(trace: GroupTrace, name: str) -> int:
    """The member with a name, or with a number; raises NotFound, or BadRequest when two have had the name."""
    found = [member for member, called in trace.members if name in (called, str(member))]
    if not found:
        there = ", ".join(called for _, called in trace.members[:20])
        raise NotFound(f"nobody is called {name[:40]!r} in this part of {trace.group}: there are {there}")
    if len(found) > 1:
        numbers = " or ".join(map(str, found))
        raise BadRequest(f"{len(found)} members have been called {name[:40]!r}: say the number, {numbers}")
    return found[0]


def _explain(known: _Known, member: int, message: TracedMessage) -> str:
    name, stamp = known.names[member], message.stamp
    if message.member == member:
        return say(known.lang, "why_own", name=name, stamp=stamp, at=write_time(_sent_us(message)))
    shown = known.deliveries.get((member, stamp))
    if shown is None:
        return say(known.lang, "why_unknown", name=name, stamp=stamp)
    if not shown.was_held:
        return say(
            known.lang, "why_at_once", name=name, stamp=stamp, sender=message.name, at=write_time(shown.delivered_us)
        )
    return say(
        known.lang,
        "why_held",
        name=name,
        stamp=stamp,
        sender=message.name,
        came=write_time(shown.received_us),
        span=write_span(shown.delivered_us - shown.received_us),
        reason=_reason(known, shown, message, _CAUSES_MAX),
    )


def _sent_us(message: TracedMessage) -> int:
    return message.published_us or message.accepted_us


def _reason(known: _Known, shown: TracedDelivery, message: TracedMessage, causes_max: int) -> str:
    """What it waited for, and when that came."""
    cause = shown.waited_for
    there = known.messages.get(cause)
    if cause.partition(":")[0] == str(message.member):
        told = say(known.lang, "because_next", cause=cause)
    else:
        named = say(known.lang, "of", stamp=cause, sender=there.name) if there is not None else cause
        told = say(known.lang, "because_answers" if cause == message.answers else "because_depends", cause=named)
    return f"{told}, {_arrival(known, shown.member, there, causes_max - 1)}"


def _arrival(known: _Known, member: int, cause: TracedMessage | None, causes_max: int) -> str:
    """When the cause came to a member, and why it was late itself if it was."""
    shown = known.deliveries.get((member, cause.stamp)) if cause is not None else None
    if cause is not None and cause.member == member:
        return say(known.lang, "which_own", name=known.names[member])
    if cause is None or shown is None:
        return say(known.lang, "which_unknown")
    if not shown.was_held or causes_max <= 0:
        return say(known.lang, "which_came", at=write_time(shown.received_us))
    return say(
        known.lang,
        "which_waited",
        came=write_time(shown.received_us),
        at=write_time(shown.delivered_us),
        reason=_reason(known, shown, cause, causes_max),
    )
