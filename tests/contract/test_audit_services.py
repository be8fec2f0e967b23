"""What people do to services is in the audit, in the transaction of what they do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pregon.errors import PregonError
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.model.service import PARKED, CurveKey, Entry, Result
from pregon.server.services_joined import JoinedServices, Place
from pregon.services.desk import ServicesDesk
from pregon.services.journal import HubJournal
from pregon.store.ticket import Ticket

from .people_stage import ADMIN, OPERATOR, detail, notes
from .site import settle

ANYWHERE = "tcp://127.0.0.1:*"
PUBLIC = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"


@pytest.fixture
def desk(hub: Hub, tmp_path: Path) -> Iterator[ServicesDesk]:
    """Where a started broker is asked."""
    joined = JoinedServices(Place(front=ANYWHERE, back=ANYWHERE, data=tmp_path, is_traced=False), Gate(hub))
    joined.start()
    yield joined.desk
    joined.stop()


def set_aside(hub: Hub, id: str) -> None:
    """A durable request was set aside, on disk."""
    journal = HubJournal(hub)
    for write in (
        lambda then: journal.accept(Entry(id=id, service="sqrt", body=[b"x"], priority=5), then),
        lambda then: journal.finish(Result(id=id, service="sqrt", state=PARKED), 60_000, then),
    ):
        answer: Ticket[Any] = Ticket()
        write(answer.resolve)
        assert answer.result() is True


def test_how_a_service_is_run_is_noted(hub: Hub, desk: ServicesDesk) -> None:
    desk.set_options(ADMIN, "sqrt", {"attempts_max": 7}).result()
    said = detail(hub)
    answers = [desk.reset_options(ADMIN, "sqrt").result(), desk.reset_options(ADMIN, "sqrt").result()]

    assert answers == [True, False]
    assert said == {"attempts_max": 7}
    assert notes(hub) == [("token admin", "update", "service", "sqrt"), ("token admin", "reset", "service", "sqrt")]


def test_keys_of_clients_and_workers_are_noted(hub: Hub, desk: ServicesDesk) -> None:
    desk.keep_key(ADMIN, CurveKey(name="tarifas", public=PUBLIC, asks=("sqrt",))).result()
    said = detail(hub)
    desk.forget_key(ADMIN, "tarifas").result()
    desk.forget_key(ADMIN, "tarifas").result()

    assert said == {"public": PUBLIC, "asks": ["sqrt"]}
    assert [note[1:] for note in notes(hub)] == [("create", "curve-key", "tarifas"), ("delete", "curve-key", "tarifas")]


def test_what_operators_do_to_requests_is_noted(hub: Hub, desk: ServicesDesk) -> None:
    for id in ("k1", "k2"):
        set_aside(hub, id)

    desk.release_durable(OPERATOR, "sqrt", "k1").result()
    desk.forget_durable(OPERATOR, "sqrt", "k2").result()

    settle(hub)
    assert notes(hub) == [
        ("token guardia", "release", "request", "k1"),
        ("token guardia", "forget", "request", "k2"),
    ]


def test_what_is_refused_is_not_noted(hub: Hub, desk: ServicesDesk) -> None:
    for ask in (
        lambda: desk.set_options(ADMIN, "sqrt", {"attempts_max": -1}),
        lambda: desk.set_options(OPERATOR, "no name", {}),
        lambda: desk.release_durable(OPERATOR, "sqrt", "nothing"),
        lambda: desk.keep_key(ADMIN, CurveKey(name="tarifas", public="no key")),
    ):
        with pytest.raises(PregonError):
            ask().result()

    settle(hub)
    assert notes(hub) == []
