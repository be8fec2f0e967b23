"""Durable requests by their keys: one key, one request; what has ended is forgotten, what was set aside is released."""

from __future__ import annotations

from pathlib import Path

import httpx

from ..hub_process import HubProcess, wait_until
from .asking import RawClient
from .program import PATIENCE_S
from .staff import Staff
from .test_durable import listed, requests_of, set_options, texts


def test_the_key_of_another_request_is_refused_at_every_door(hub: HubProcess) -> None:
    with RawClient(hub.addresses.services_front, service="owned") as client:
        client.ask(1, b"first", durable=True, key="owned-1")
        yes = client.require(1)
        client.ask(2, b"second", durable=True, key="owned-1")
        other_body = client.require(2)
    over_rest = httpx.post(requests_of(hub, "owned"), params={"key": "owned-1"}, content=b"second")
    other_service = httpx.post(requests_of(hub, "not-owned"), params={"key": "owned-1"}, content=b"first")

    assert (yes.kind, other_body.code) == ("Y", "already_exists")
    for refused in (over_rest, other_service):
        assert (refused.status_code, refused.json()["code"]) == (409, "already_exists")
    assert listed(hub, "not-owned") == []


def test_what_waits_is_not_forgotten_and_what_has_ended_is(hub: HubProcess, tmp_path: Path) -> None:
    where = f"{requests_of(hub, 'fading')}/fading-1"
    httpx.post(requests_of(hub, "fading"), params={"key": "fading-1"}, content=b"x")
    waits = httpx.delete(where)
    with Staff(hub.addresses.services_back, tmp_path, "fading") as staff:
        staff.hire("Ana")
        httpx.get(where, params={"wait_ms": 20_000}, timeout=30)

    of_another = httpx.delete(f"{requests_of(hub, 'another')}/fading-1")
    forgotten = httpx.delete(where)
    again = httpx.delete(where)

    assert (waits.status_code, waits.json()["code"]) == (409, "not_pending")
    assert (of_another.status_code, forgotten.status_code, again.status_code) == (404, 204, 404)
    assert listed(hub, "fading") == []


def test_what_was_set_aside_is_released_by_its_key(hub: HubProcess, tmp_path: Path) -> None:
    set_options(hub, "deadly", beat_ms=150, patience=4, attempts_max=1)
    where = f"{requests_of(hub, 'deadly')}/deadly-1"
    body = b"bad" * 1_000
    httpx.post(requests_of(hub, "deadly"), params={"key": "deadly-1"}, content=body)
    not_yet = httpx.post(f"{where}/release")
    with Staff(hub.addresses.services_back, tmp_path, "deadly") as staff:
        worker = staff.call_in("Ana", "--dies-of", body.decode())
        wait_until(lambda: not worker.is_alive, "it is dead", PATIENCE_S)
        parked = httpx.get(where, params={"wait_ms": 20_000}, timeout=30).json()

        released = httpx.post(f"{where}/release")
        staff.hire("Sol")
        answered = httpx.get(where, params={"wait_ms": 20_000}, timeout=30)

    assert not_yet.status_code == 404
    assert (parked["state"], released.status_code, released.json()["durable_id"]) == ("parked", 200, "deadly-1")
    assert texts(answered) == [body.decode(), "Sol"], "the whole of it was worked on"
    assert not [row for row in poison(hub) if row["durable_id"] == "deadly-1"]


def poison(hub: HubProcess) -> list[dict[str, object]]:
    """What is shown as set aside."""
    rows: list[dict[str, object]] = httpx.get(f"http://{hub.addresses.http}/v1/poison").json()["items"]
    return rows
