"""What every page works with: the gate and the desks behind it. `server` joins them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pregon.delivery.rehearsals import Rehearsals
from pregon.errors import PregonError
from pregon.groups.desk import GroupsDesk
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.hub.people import People
from pregon.services.desk import ServicesDesk
from pregon.settings import Settings

if TYPE_CHECKING:
    from pregon.delivery.activity import Activity
    from pregon.edges.admin.provider import Provider


@dataclass(slots=True)
class AdminDesk:
    """What the pages ask."""

    gate: Gate
    activity: Activity
    rehearsals: Rehearsals
    settings: Settings
    status: Callable[[], dict[str, Any]]
    """How the hub is, for the command of that name."""
    status_of: Callable[[PregonError], int]
    """The HTTP status of an error."""
    services: ServicesDesk | None = None
    groups: GroupsDesk | None = None
    provider: Provider | None = None
    """Who sends people here who entered elsewhere; None if there is none."""
    remembered: dict[str, Any] = field(default_factory=dict)
    """What pages keep for a moment, by their names, each bounded by itself."""

    @property
    def people(self) -> People:
        """Who may enter, and who is in."""
        return self.gate.people

    @property
    def hub(self) -> Hub:
        """The hub behind the gate, for what needs no permission: its limits and its clock."""
        return self.gate.hub
