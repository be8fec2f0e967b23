"""Where everything of a space-time diagram is on paper: lines, marks, arrows, breaks.

Pure geometry: what it says is computed from the trace and nothing else. How it looks is left to `spacetime_svg`.

Promises:
- An arrow ends at or after the place where it begins, and is held (hollow where it came, full where it was shown) if
  and only if its delivery was.
- What does not fit is left out from a message on, and `is_whole` says so: never an arrow here and there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from pregon.groups.spacetime_axis import Order, Silence, Tick, TimeAxis
from pregon.groups.spacetime_instants import Instants, Shown, find_instants
from pregon.groups.trace import GroupTrace, TracedDelivery, TracedMessage
from pregon.model import group as g

ARROWS_MAX = 10_000
"""Arrows of one drawing."""
TOP, BOTTOM, RIGHT = 96.0, 46.0, 84.0
HUB_KINDS = (g.JOINING, g.LEAVING, g.GONE, g.RENAMED)
_GAPS = ((8, 64.0), (20, 44.0))
_GAP_MIN = 26.0
_NAME_WIDTH, _NAME_MIN, _NAME_MAX = 8.0, 70.0, 220.0
COLOURS = 8


@dataclass(frozen=True, slots=True)
class Line:
    """A member: where its line is, and from where to where it was in the group."""

    member: int
    name: str
    y: float
    begin: float
    end: float
    is_hub: bool
    came: bool
    """Whether it was seen to join, where the line begins."""
    went: bool
    """Whether it was seen to leave, or was given up, where the line ends."""

    @property
    def colour(self) -> int:
        """One of the colours; the same for a member in every drawing."""
        return self.member % COLOURS


@dataclass(frozen=True, slots=True)
class Arrow:
    """A message to one member: from its mark to where it came, and on to where it was shown."""

    delivery: TracedDelivery
    came_us: int
    shown_us: int
    x: float
    y: float
    came_x: float
    shown_x: float
    end_y: float
    is_held: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """A message where it was sent, and its arrows."""

    message: TracedMessage
    sent_us: int
    x: float
    y: float
    colour: int
    is_hub: bool
    causes: tuple[str, ...]
    """What it depends on immediately, its sender's message before it included, as far as the drawing has it."""
    arrows: tuple[Arrow, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The whole drawing, but for its legend, which comes below."""

    width: float
    height: float
    left: float
    lines: tuple[Line, ...]
    marks: tuple[Mark, ...]
    silences: tuple[Silence, ...]
    ticks: tuple[Tick, ...]
    moved_us: dict[int, int]
    is_whole: bool


def lay_out(trace: GroupTrace, width: float, *, is_logical: bool = False) -> Layout:
    """Where everything is, in a drawing that is so wide or, if there is too much to be seen so, wider."""
    messages, is_whole = _choose(trace)
    members = _tell_apart(trace.members)
    instants = find_instants(trace)
    shown = _group_shown(messages, instants)
    longest = max((len(name) for _, name in members), default=0)
    left = min(max(_NAME_MIN, longest * _NAME_WIDTH + 34), _NAME_MAX)
    room = max(width - left - RIGHT, 100.0)
    places = _place_in_order(messages, instants, shown, room) if is_logical else _place_in_time(instants, shown, room)
    gap = next((gap for members, gap in _GAPS if len(trace.members) <= members), _GAP_MIN)
    rows = {member: TOP + row * gap for row, (member, _) in enumerate(trace.members)}
    right = left + places.width
    marks = tuple(_mark(message, instants, shown, places, (left, rows)) for message in messages)
    return Layout(
        width=round(max(width, right + RIGHT), 1),
        height=TOP + max(len(rows) - 1, 0) * gap + BOTTOM,
        left=left,
        lines=tuple(_line(member, name, rows[member], marks, (left, right)) for member, name in members),
        marks=marks,
        silences=tuple(Silence(round(left + one.x, 1), one.span_us) for one in places.silences),
        ticks=tuple(Tick(round(left + one.x, 1), one.at_us) for one in places.ticks),
        moved_us=instants.moved_us,
        is_whole=is_whole,
    )


def _tell_apart(members: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Members with their names; where two have had the same one, with their numbers too."""
    counts = Counter(name for _, name in members)
    return [(member, f"{name} ({member})" if counts[name] > 1 else name) for member, name in members]


@dataclass(frozen=True, slots=True)
class _Places:
    """Where messages were sent, and where they came and were shown to each member."""

    sent: dict[str, float]
    shown: dict[tuple[int, str], tuple[float, float]]
    width: float
    silences: tuple[Silence, ...] = ()
    ticks: tuple[Tick, ...] = ()


def _choose(trace: GroupTrace) -> tuple[list[TracedMessage], bool]:
    """The messages whose arrows fit, from the first on."""
    arrows: dict[str, int] = {}
    for delivery in trace.deliveries:
        arrows[delivery.stamp] = arrows.get(delivery.stamp, 0) + 1
    members = {member for member, _ in trace.members}
    chosen: list[TracedMessage] = []
    count = 0
    for message in trace.messages:
        count += arrows.get(message.stamp, 0)
        if count > ARROWS_MAX:
            return chosen, False
        if message.member in members:
            chosen.append(message)
    return chosen, True


def _group_shown(messages: list[TracedMessage], instants: Instants) -> dict[str, list[Shown]]:
    """The deliveries of each message that is drawn, by who was shown it."""
    found: dict[str, list[Shown]] = {message.stamp: [] for message in messages}
    for shown in instants.shown:
        if shown.delivery.stamp in found:
            found[shown.delivery.stamp].append(shown)
    for row in found.values():
        row.sort(key=lambda one: one.delivery.member)
    return found


def _place_in_time(instants: Instants, shown: dict[str, list[Shown]], room: float) -> _Places:
    journeys = [(instants.sent_us[stamp], instants.sent_us[stamp]) for stamp in shown]
    for stamp, row in shown.items():
        journeys += [(instants.sent_us[stamp], one.came_us) for one in row]
        journeys += [(one.came_us, one.shown_us) for one in row if one.delivery.was_held]
    if not journeys:
        return _Places({}, {}, 0.0)
    axis = TimeAxis(journeys, len(shown), room)
    return _Places(
        sent={stamp: axis.place(instants.sent_us[stamp]) for stamp in shown},
        shown={
            (one.delivery.member, stamp): (
                axis.place(one.came_us),
                axis.place(one.shown_us),
            )
            for stamp, row in shown.items()
            for one in row
        },
        width=axis.width,
        silences=tuple(axis.silences()),
        ticks=tuple(axis.ticks()),
    )


def _place_in_order(
    messages: list[TracedMessage], instants: Instants, shown: dict[str, list[Shown]], room: float
) -> _Places:
    order = Order(room)
    events: list[tuple[tuple[int, int, int], TracedMessage, Shown | None]] = []
    for row, message in enumerate(messages):
        # At the same instant the older message comes first, and a message is sent before it comes and shown after.
        events.append(((instants.sent_us[message.stamp], row, 0), message, None))
        for one in shown[message.stamp]:
            if one.delivery.was_held:
                events.append(((one.came_us, row, 1), message, one))
            events.append(((one.shown_us, row, 2), message, one))
    events.sort(key=lambda event: event[0])
    sent: dict[str, int] = {}
    steps: dict[tuple[int, str], list[int]] = {}
    for _, message, event in events:
        if event is None:
            sent[message.stamp] = order.add(message.member, [sent[stamp] for stamp in message.after if stamp in sent])
        else:
            step = order.add(event.delivery.member, [sent[message.stamp]])
            steps.setdefault((event.delivery.member, message.stamp), []).append(step)
    return _Places(
        sent={stamp: order.place(step) for stamp, step in sent.items()},
        shown={key: (order.place(found[0]), order.place(found[-1])) for key, found in steps.items()},
        width=order.width,
    )


def _mark(
    message: TracedMessage,
    instants: Instants,
    shown: dict[str, list[Shown]],
    places: _Places,
    paper: tuple[float, dict[int, float]],
) -> Mark:
    left, rows = paper
    stamp = message.stamp
    x, y = round(left + places.sent[stamp], 1), rows[message.member]
    arrows = []
    for one in shown[stamp]:
        member = one.delivery.member
        if member in rows:
            came, seen = places.shown[member, stamp]
            arrows.append(
                Arrow(
                    delivery=one.delivery,
                    came_us=one.came_us,
                    shown_us=one.shown_us,
                    x=x,
                    y=y,
                    came_x=round(left + came, 1),
                    shown_x=round(left + seen, 1),
                    end_y=rows[member],
                    is_held=one.delivery.was_held,
                )
            )
    number = int(stamp.partition(":")[2] or 0)
    before = (f"{message.member}:{number - 1}",) if number > 1 else ()
    return Mark(
        message=message,
        sent_us=instants.sent_us[stamp],
        x=x,
        y=y,
        colour=message.member % COLOURS,
        is_hub=message.kind in HUB_KINDS,
        causes=tuple(cause for cause in (*message.after, *before) if cause in shown),
        arrows=tuple(arrows),
    )


def _line(member: int, name: str, y: float, marks: tuple[Mark, ...], paper: tuple[float, float]) -> Line:
    """From where it joined to where it left, as far as the drawing has it."""
    begin, end = paper
    came = went = False
    for mark in marks:
        message = mark.message
        if message.member == member and message.kind == g.JOINED:
            begin, came = mark.x, True
        elif (message.member == member and message.kind == g.LEFT) or (
            message.about == member and message.kind == g.GONE
        ):
            end, went = max(mark.x, begin), True
    is_hub = any(mark.is_hub for mark in marks if mark.message.member == member)
    return Line(member, name, y, begin, end, is_hub, came, went)
