"""Where the broker is: said directly, or asked of the hub, which knows."""

from __future__ import annotations

from typing import TypedDict, Unpack

from pregon.client.aio import AsyncClient
from pregon.client.link import DEFAULT_TIMEOUT_MS
from pregon.client.services.broker_socket import Broker, broker_of
from pregon.client.services.curve import find_curve
from pregon.client.sync import Client


class Place(TypedDict, total=False):
    """How to find the broker, and to present oneself; what is left out comes from the environment."""

    hub: str | None
    """The address of a hub, which is asked where its broker is; `PREGON_HUB`, or the hub of this machine."""
    key: str | None
    """The key to present to the hub; `PREGON_KEY`."""
    curve: str | None
    """The file with the CURVE keys to present to the broker; `PREGON_CURVE`."""


def find_broker(
    side: str, address: str | None, timeout_ms: float = DEFAULT_TIMEOUT_MS, **place: Unpack[Place]
) -> Broker:
    """The broker at an address, or the hub's; `side` is `front` or `back`. Raises what keeps it from being found."""
    if address:
        return Broker(address, find_curve(place.get("curve")))
    with Client(place.get("hub"), key=place.get("key"), timeout_ms=timeout_ms) as hub:
        return broker_of(hub.show("broker"), side, place.get("curve"), hub.hub)


async def find_broker_async(side: str, address: str | None, **place: Unpack[Place]) -> Broker:
    """The same, without blocking the event loop."""
    if address:
        return Broker(address, find_curve(place.get("curve")))
    async with AsyncClient(place.get("hub"), key=place.get("key")) as hub:
        return broker_of(await hub.show("broker"), side, place.get("curve"), hub.hub)
