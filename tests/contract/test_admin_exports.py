"""Files of traces from the administration pages: as much as is allowed, for whom it is, as long as they may."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import cast

import pytest

from pregon import limits
from pregon.delivery.activity import Activity
from pregon.delivery.rehearsals import Rehearsals
from pregon.edges.admin.desk import AdminDesk
from pregon.edges.admin.exchange import AdminRequest
from pregon.edges.admin.trace_export import Export, export_csv, export_parquet
from pregon.edges.admin.visit import SESSION, Visit
from pregon.edges.http.answers import status_of
from pregon.errors import BadRequest, HubBusy, Unauthorized
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.hub.private_topics import PREFIX
from pregon.model.trace import ACCEPTED, Trace
from pregon.settings import Settings
from pregon.store.traces import write_traces

from .people_stage import ADMIN, GOOD, people_of


@pytest.fixture
def desk(hub: Hub) -> AdminDesk:
    """The pages' desk on a hub with an administrator and a reader; what exports do not use is not there."""
    gate = Gate(hub)
    gate.people = people_of(hub)
    gate.people.create(ADMIN, "ana", GOOD, "administrator")
    gate.people.create(ADMIN, "rita", GOOD, "reader")
    return AdminDesk(
        gate=gate,
        activity=cast(Activity, None),
        rehearsals=cast(Rehearsals, None),
        settings=Settings(),
        status=dict,
        status_of=status_of,
    )


def write(hub: Hub, count: int, topic: str = "births") -> None:
    """Write as many traces of a topic."""
    rows = [
        Trace(at_us=seq, kind=ACCEPTED, topic=topic, producer="registry", first_seq=seq, last_seq=seq)
        for seq in range(1, count + 1)
    ]
    with hub.database.connect() as connection:
        hub.database.begin_write(connection, durable=False)
        write_traces(connection, rows)
        hub.database.commit(connection)


def visit(desk: AdminDesk, name: str, query: str = "") -> Visit:
    """A visit of somebody who has entered."""
    token, _ = desk.people.enter(name, GOOD)
    request = AdminRequest(method="GET", path="traces.csv", query=query, cookies=f"{SESSION}={token}")
    visit = Visit(desk, request)
    visit.identify(is_active=True)
    return visit


def export(visit: Visit) -> Export:
    """The pieces of the file."""
    chunks = export_csv(visit).chunks
    assert isinstance(chunks, Export)
    return chunks


def numbers(pieces: Iterator[bytes]) -> list[int]:
    """Which messages the file is about."""
    text = b"".join(pieces).decode("utf-8-sig")
    return [int(row["first_seq"]) for row in csv.DictReader(io.StringIO(text))]


def test_a_file_has_all_that_was_found_newest_first(hub: Hub, desk: AdminDesk) -> None:
    write(hub, 2_500)
    write(hub, 7, topic="deaths")

    found = numbers(export(visit(desk, "rita", "topic=births")))

    assert found == list(range(2_500, 0, -1))


def test_a_file_has_the_newest_ones_of_too_many(hub: Hub, desk: AdminDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ADMIN_EXPORT_ROWS_MAX", 1_300)
    write(hub, 2_500)

    found = numbers(export(visit(desk, "rita")))

    assert found == list(range(2_500, 1_200, -1))


def test_who_is_made_to_leave_gets_no_more_of_a_file(hub: Hub, desk: AdminDesk) -> None:
    write(hub, 2_500)
    rita = visit(desk, "rita")
    pieces = export(rita)
    first = next(pieces)

    desk.people.leave(rita.cookies[SESSION])

    assert first.count(b"\r\n") == 1_001
    with pytest.raises(Unauthorized):
        next(pieces)


def test_a_file_has_private_conversations_only_for_who_administers(hub: Hub, desk: AdminDesk) -> None:
    write(hub, 3)
    write(hub, 2, topic=f"{PREFIX}ana.luis")

    found = {name: numbers(export(visit(desk, name))) for name in ("ana", "rita")}

    assert found == {"ana": [2, 1, 3, 2, 1], "rita": [3, 2, 1]}


def test_a_question_without_sense_is_refused_before_the_file_begins(desk: AdminDesk) -> None:
    with pytest.raises(BadRequest):
        export_csv(visit(desk, "rita", "seq=3"))


@pytest.mark.parametrize("end", ["read", "closed", "closed before it began", "dropped", "failed"])
def test_only_so_many_files_are_made_at_once(hub: Hub, desk: AdminDesk, end: str) -> None:
    write(hub, 2_500)
    visits = [visit(desk, "rita") for _ in range(limits.ADMIN_EXPORTS_AT_ONCE_MAX)]
    exports = [export(one) for one in visits]
    with pytest.raises(HubBusy, match="files of traces are being made") as refused:
        export_parquet(visit(desk, "ana"))

    first = exports.pop(0)
    if end == "read":
        numbers(first)
    elif end == "failed":
        next(first)
        desk.people.leave(visits[0].cookies[SESSION])
        with pytest.raises(Unauthorized):
            next(first)
    elif end.startswith("closed"):
        if end == "closed":
            next(first)
        first.close()
        first.close()
    del first

    assert status_of(refused.value) == 503
    exports.append(export(visit(desk, "ana")))
    with pytest.raises(HubBusy):
        export_csv(visit(desk, "ana"))


def test_a_file_that_is_refused_takes_no_place(hub: Hub, desk: AdminDesk) -> None:
    write(hub, 3)
    for _ in range(limits.ADMIN_EXPORTS_AT_ONCE_MAX):
        with pytest.raises(BadRequest):
            export_csv(visit(desk, "rita", "seq=3"))

    found = numbers(export(visit(desk, "rita")))

    assert found == [3, 2, 1]
