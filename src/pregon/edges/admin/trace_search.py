"""A search in the traces as it stands in an address: what it asks of the gate, and the addresses of others like it.

Times are those of the viewer's zone: who sends an address to somebody elsewhere sends that hour of the day.
"""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlencode

from markupsafe import Markup

from pregon.edges.admin.formats import instant, parse_local
from pregon.edges.admin.trace_sentences import KIND_WORDS
from pregon.edges.admin.visit import Visit, parse_number
from pregon.model.trace import TraceQuery

FIELDS = ("topic", "seq", "producer", "subscriber", "kind", "from", "until")
"""What can be asked for, by the names of the parameters."""
FIELD_WORDS = {
    "topic": "Topic",
    "seq": "Message number",
    "producer": "Producer",
    "subscriber": "Subscriber",
    "kind": "Result",
    "from": "From",
    "until": "Until",
}
_VALUE_CHARACTERS_MAX = 160
_HOUR, _WEEK = timedelta(hours=1), timedelta(days=7)
PATH = "/admin/traces"


class TraceSearch:
    """What is searched for."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self.values = {name: visit.query.get(name, "").strip()[:_VALUE_CHARACTERS_MAX] for name in FIELDS}
        self.before = visit.query.get("before", "").strip()[:_VALUE_CHARACTERS_MAX]

    @property
    def is_narrowed(self) -> bool:
        """Whether anything is asked for."""
        return any(self.values.values())

    def query(self, rows_max: int, *, is_from_newest: bool = False) -> TraceQuery:
        """What the gate is asked; raises BadRequest for what is no number or no date."""
        values, zone = self.values, self._visit.zone
        return TraceQuery(
            topic=values["topic"],
            producer=values["producer"],
            subscriber=values["subscriber"],
            kind=values["kind"],
            seq=parse_number(values["seq"]) if values["seq"] else 0,
            since_us=parse_local(values["from"], zone) if values["from"] else 0,
            until_us=parse_local(values["until"], zone) if values["until"] else 0,
            before=parse_number(self.before) if self.before and not is_from_newest else 0,
            max=rows_max,
        )

    def link(self, path: str = PATH, **changes: object) -> str:
        """The address of this search with some of it changed, from its newest on; an empty value leaves one out."""
        shown = {name: str(value) for name, value in {**self.values, **changes}.items() if value not in ("", None)}
        return f"{path}?{urlencode(shown)}" if shown else path

    def asked(self) -> list[tuple[Markup, Markup, str]]:
        """What is asked for: its name, its value for people, and the search without it."""
        say, found = self._visit.say, []
        for name, value in self.values.items():
            if value:
                shown = Markup.escape(value.replace("T", " ") if name in ("from", "until") else value)
                if name == "kind" and value in KIND_WORDS:
                    shown = say(KIND_WORDS[value])
                found.append((say(FIELD_WORDS[name]), shown, self.link(**{name: ""})))
        return found

    def shortcuts(self) -> list[tuple[Markup, str, bool]]:
        """Searches that people often want: what they are called, where they are, and whether this is one."""
        say, now = self._visit.say, instant(self._visit.now_us, self._visit.zone)
        since = {
            "hour": f"{now - _HOUR:%Y-%m-%dT%H:%M}",
            "today": f"{now:%Y-%m-%dT00:00}",
            "week": f"{now - _WEEK:%Y-%m-%dT00:00}",
        }
        named = [
            (say("Last hour"), {"from": since["hour"], "until": ""}),
            (say("Today"), {"from": since["today"], "until": ""}),
            (say("Last 7 days"), {"from": since["week"], "until": ""}),
            (say("Only failures"), {"kind": "failed"}),
        ]
        return [
            (text, self.link(**changes), all(self.values[name] == value for name, value in changes.items()))
            for text, changes in named
        ]
