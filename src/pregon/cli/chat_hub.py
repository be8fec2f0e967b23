"""The hub that somebody chats on, for the commands of the chat."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from pregon.addresses import DEFAULT_HUB, HUB_VARIABLE
from pregon.cli.connect import CERTIFICATE_VARIABLE, TIMEOUT_MS

if TYPE_CHECKING:
    from pregon.client import AsyncClient


def address_of(hub: str | None) -> str:
    """The hub that was named, by the option or the environment, or the local one."""
    return hub or os.environ.get(HUB_VARIABLE, DEFAULT_HUB)


def opener_of(address: str) -> Callable[[float | None], AsyncClient]:
    """Opens connections to a hub, each with a time limit of its own if one is given."""
    from pregon.client import AsyncClient

    # Only where it is used: the variable may stand for all the hubs that somebody talks to.
    certificate = os.environ.get(CERTIFICATE_VARIABLE) if address.startswith("https:") else None

    def open_client(timeout_ms: float | None) -> AsyncClient:
        return AsyncClient(address, timeout_ms=timeout_ms or TIMEOUT_MS, certificate=certificate)

    return open_client
