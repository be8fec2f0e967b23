"""Groups: the list, and of one who is in it, what was said, what had to wait for what, and the space-time diagram.

The diagram is drawn by `groups.spacetime`, which knows nothing of these pages. It is shown as a picture, in which no
script runs; and as a page of its own, with the policy that it brings, where one can point at a message and see what
caused it.
"""

from __future__ import annotations

from pregon.edges.admin.exchange import HTML, AdminAnswer
from pregon.edges.admin.listing import Listing
from pregon.edges.admin.routes import Page
from pregon.edges.admin.visit import THEME, THEMES, Visit
from pregon.errors import BadRequest, NotFound
from pregon.groups.desk import GroupsDesk
from pregon.groups.spacetime import POLICY, DiagramOptions, render_page, render_svg
from pregon.groups.spacetime_why import explain_held
from pregon.groups.spacetime_words import say_what
from pregon.groups.trace import GroupTrace, TracedMessage
from pregon.model.group import MESSAGE, topic_of
from pregon.security.keys import ADMIN, OPERATE

PART = 50
"""Messages that are shown and drawn at a time."""
_HELD_SHOWN = 20
_AFTER_SHOWN = 8
_SVG = "image/svg+xml"
_WIDTH = 960
"""As wide as the page is; wider, and to be scrolled, where much happened."""


def _desk(visit: Visit) -> GroupsDesk:
    if visit.desk.groups is None:
        raise NotFound("this hub has no groups")
    return visit.desk.groups


def list_groups(visit: Visit) -> AdminAnswer:
    """The list."""
    desk = _desk(visit)
    listing = Listing(visit, "/admin/groups", sort="said").find(lambda query: desk.search(visit.caller, query))
    here = desk.counts(visit.caller)["here"]
    return visit.page("groups.html", listing=listing, here=here)


def show_group(visit: Visit) -> AdminAnswer:
    """One group."""
    desk, name = _desk(visit), visit.names["group"]
    group = desk.show_group(visit.caller, name).result()
    members = desk.list_members(visit.caller, name).result()
    trace = _trace(visit, group["head_seq"])
    shown, held = count_deliveries(trace)
    first, last = (trace.messages[0].seq, trace.messages[-1].seq) if trace.messages else (0, 0)
    return visit.page(
        "group.html",
        group=group,
        topic=topic_of(name),
        members=[(one, count_unshown(trace, one.member, one.joined_seq)) for one in members],
        messages=trace.messages[::-1],
        what=lambda message: say_what(visit.say.language, message.kind, message.name, message.text),
        after=_after,
        shown=shown,
        held=held,
        waits=explain_held(trace, _HELD_SHOWN, visit.say.language),
        held_count=sum(one.was_held for one in trace.deliveries),
        has_deliveries=bool(trace.deliveries),
        first=first,
        last=last,
        is_newest=last >= group["head_seq"],
        part=f"?to={last}",
        diagram=f"/admin/groups/{name}/diagram",
        stamp=visit.now_us // 1_000,
    )


def _trace(visit: Visit, head_seq: int) -> GroupTrace:
    """The part of the group's log that is looked at: the newest, or up to the number that the address says."""
    asked = visit.query.get("to", "0")
    if not asked.isascii() or not asked.isdigit() or len(asked) > 15:
        raise BadRequest("`to` is the number of a message")
    last = min(int(asked), head_seq) or head_seq
    desk, name = _desk(visit), visit.names["group"]
    return desk.diagram_data(visit.caller, name, max(1, last - PART + 1), last).result()


def count_deliveries(trace: GroupTrace) -> tuple[dict[str, int], dict[str, int]]:
    """Of each message, to how many it was shown and how many had to hold it back."""
    shown: dict[str, int] = {}
    held: dict[str, int] = {}
    for one in trace.deliveries:
        shown[one.stamp] = shown.get(one.stamp, 0) + 1
        held[one.stamp] = held.get(one.stamp, 0) + one.was_held
    return shown, held


def count_unshown(trace: GroupTrace, member: int, joined_seq: int) -> int | None:
    """How many messages of others, since it came, a member has not said that it was shown; None if it says nothing."""
    seen = {one.stamp for one in trace.deliveries if one.member == member}
    if not seen:
        return None
    return sum(
        one.kind == MESSAGE and one.member != member and one.seq > joined_seq and one.stamp not in seen
        for one in trace.messages
    )


def _after(message: TracedMessage) -> tuple[tuple[str, ...], int]:
    """What a message came after, so much of it as is shown, and how much more there is."""
    return message.after[:_AFTER_SHOWN], max(0, len(message.after) - _AFTER_SHOWN)


# The diagram.


def _drawn(visit: Visit) -> tuple[GroupTrace, DiagramOptions]:
    group = _desk(visit).show_group(visit.caller, visit.names["group"]).result()
    theme = visit.cookies.get(THEME, "auto")
    options = DiagramOptions(
        lang=visit.say.language,
        is_logical=visit.query.get("order") == "1",
        width=_WIDTH,
        theme=theme if theme in THEMES else "auto",
    )
    return _trace(visit, group["head_seq"]), options


def show_picture(visit: Visit) -> AdminAnswer:
    """The diagram as a picture."""
    return _with_own_policy(render_svg(*_drawn(visit)), _SVG)


def show_diagram(visit: Visit) -> AdminAnswer:
    """The diagram as a page: the picture, why messages waited, and the same as a table."""
    return _with_own_policy(render_page(*_drawn(visit)), HTML)


def _with_own_policy(text: str, content_type: str) -> AdminAnswer:
    return AdminAnswer(text.encode(), 200, content_type, [("content-security-policy", POLICY)])


# What may be done.


def remove_member(visit: Visit) -> AdminAnswer:
    """Take a member off the roll that died without leaving."""
    name = visit.names["group"]
    if not _desk(visit).remove_member(visit.caller, name, visit.number("member")).result():
        raise NotFound("that member is not in the group any more")
    return visit.go(f"/admin/groups/{name}", "removed")


def ask_delete(visit: Visit) -> AdminAnswer:
    """What deleting a group would cost."""
    return _ask_delete(visit)


def _ask_delete(visit: Visit, mismatch: str = "") -> AdminAnswer:
    name = visit.names["group"]
    group = _desk(visit).show_group(visit.caller, name).result()
    topic = visit.desk.gate.show(visit.caller, "topic", (topic_of(name),)).result()
    return visit.page("group_delete.html", 400 if mismatch else 200, group=group, topic=topic, mismatch=mismatch)


def delete_group(visit: Visit) -> AdminAnswer:
    """Give a group up, with everything that was said in it."""
    name = visit.names["group"]
    if visit.field("name") != name:
        return _ask_delete(visit, visit.say("That is not its name: nothing was deleted."))
    _desk(visit).delete_group(visit.caller, name).result()
    return visit.go("/admin/groups", "deleted")


PAGES = [
    Page("GET", "groups", list_groups),
    Page("GET", "groups/{group}", show_group),
    Page("GET", "groups/{group}/diagram.svg", show_picture),
    Page("GET", "groups/{group}/diagram", show_diagram),
    Page("POST", "groups/{group}/remove", remove_member, OPERATE),
    Page("GET", "groups/{group}/delete", ask_delete, ADMIN),
    Page("POST", "groups/{group}/delete", delete_group, ADMIN),
]
