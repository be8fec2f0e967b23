"""What the pages of topics, producers and subscribers share: find one, make one, change it, switch it, delete it.

A form of something that is there carries what stood for it when it was read (`registry.fingerprint`). If somebody else
has changed it meanwhile, the form comes back as it was filled in, with what is different now beside it; sending it
again then means to write over that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from markupsafe import Markup

from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.visit import Visit
from pregon.errors import BadRequest, NotFound, PregonError
from pregon.hub.registry import KINDS, Entry, fingerprint

Handler = Callable[[Visit], AdminAnswer]
Fields = dict[str, str]
"""What stands in the fields of a form, by their names; a box that is checked has a 1."""
_DIGITS_MAX = 9


def place_of(kind: str, name: str) -> str:
    """The address of an entry's page."""
    return f"/admin/{kind}s/{name}"


def require_entry(visit: Visit, kind: str) -> Any:
    """The entry that the address names; raises NotFound."""
    return visit.desk.gate.show(visit.caller, kind, (visit.names[kind],)).result()


def read_fields(visit: Visit, names: Mapping[str, bool]) -> Fields:
    """What was filled in; `names` says of each field whether it is a box to check."""
    return {
        name: ("1" if visit.is_checked(name) else "") if is_box else visit.field(name) for name, is_box in names.items()
    }


def read_count(text: str) -> int | None:
    """What a field for a number says, None if it is empty; raises BadRequest."""
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > _DIGITS_MAX:
        raise BadRequest(f"{text[:40]!r} is not a number: write 1, 2, 3 …")
    return int(text)


def changed_values(entry: Entry, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Of what a form wants, what is not so already: the audit then says what was changed, and no more."""
    there = msgspec.to_builtins(entry)
    return {name: value for name, value in wanted.items() if there[name] != value}


def differences(entered: Fields, now: Fields) -> Fields:
    """What stands now in the fields that were filled in differently."""
    return {name: value for name, value in now.items() if name in entered and entered[name] != value}


class EntryForm:
    """The form of one kind of entry: what its fields are, how they are read, and on which page it is."""

    def __init__(
        self,
        kind: str,
        template: str,
        boxes: Mapping[str, bool],
        read: Callable[[Fields], dict[str, Any]],
        write: Callable[[Any], Fields],
    ) -> None:
        """`read` makes values of what was filled in, or raises; `write` fills in what an entry has."""
        self._kind = kind
        self._template = template
        self._boxes = boxes
        self._read = read
        self._write = write

    def show_new(self, visit: Visit) -> AdminAnswer:
        """The form of one that is to be made."""
        blank = KINDS[self._kind](name="")  # type: ignore[call-arg]
        return self._draw(visit, None, self._write(blank) | {"name": visit.query.get("name", "")[:160]})

    def create(self, visit: Visit) -> AdminAnswer:
        """Make it; the form again if that is refused."""
        fields = read_fields(visit, self._boxes) | {"name": visit.field("name")}
        try:
            entry = _convert(self._kind, {"name": fields["name"], **self._read(fields)})
            visit.desk.gate.create(visit.caller, entry).result()
        except PregonError as error:
            return self._draw(visit, None, fields, error)
        return visit.go(place_of(self._kind, fields["name"]), "created")

    def show(self, visit: Visit) -> AdminAnswer:
        """The form of one that is there."""
        entry = require_entry(visit, self._kind)
        return self._draw(visit, entry, self._write(entry))

    def save(self, visit: Visit) -> AdminAnswer:
        """Change it; the form again if that is refused."""
        entry = require_entry(visit, self._kind)
        fields = read_fields(visit, self._boxes)
        try:
            values = changed_values(entry, self._read(fields))
            if values:
                names, expected = (entry.name,), visit.field("expected")
                visit.desk.gate.update(visit.caller, self._kind, names, values, expected).result()
        except PregonError as error:
            return self._draw(visit, require_entry(visit, self._kind), fields, error)
        return visit.go(place_of(self._kind, entry.name), "saved")

    def _draw(self, visit: Visit, entry: Any, fields: Fields, error: PregonError | None = None) -> AdminAnswer:
        is_changed = error is not None and error.code == "changed"
        return visit.page(
            self._template,
            200 if error is None else visit.desk.status_of(error),
            entry=entry,
            fields=fields,
            expected=fingerprint(entry) if entry is not None else "",
            now=differences(fields, self._write(entry)) if is_changed else {},
            error=error and visit.explain(error),
        )


def _convert(kind: str, values: dict[str, Any]) -> Entry:
    try:
        return msgspec.convert(values, KINDS[kind])
    except msgspec.ValidationError as error:
        raise BadRequest(f"{kind}: {error}") from error


def switcher(kind: str, *, is_enabled: bool) -> Handler:
    """Who enables or disables an entry of a kind."""

    def switch(visit: Visit) -> AdminAnswer:
        name = visit.names[kind]
        visit.desk.gate.update(visit.caller, kind, (name,), {"enabled": is_enabled}).result()
        return visit.go(place_of(kind, name), "enabled" if is_enabled else "disabled")

    return switch


def deleter(kind: str, show: Callable[[Visit, Markup | None], AdminAnswer]) -> Handler:
    """Who deletes an entry of a kind once its name was written; `show` draws the page that asks for it."""

    def delete(visit: Visit) -> AdminAnswer:
        name = visit.names[kind]
        if visit.field("name") != name:
            return show(visit, visit.say("That is not its name. Write {name} to delete it.", name=name))
        if not visit.desk.gate.delete(visit.caller, kind, (name,)).result():
            raise NotFound(f"there is no {kind} {name}")
        return visit.go(f"/admin/{kind}s", "deleted")

    return delete
