"""How often somebody may fail to enter before they must wait.

Pure: who asks says what time it is. Failures are counted in a window that slides, by who is named and by where the
attempt comes from. A name that is attacked from elsewhere does not lock its owner out: at an address where this name
has entered before, its failures are counted apart.

An attempt is counted when it begins and taken back when it succeeds, so that many at once are no way around the limit.

Promises:
- Memory is bounded: beyond so many names and addresses the ones that failed longest ago are forgotten.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Hashable, Sequence

from pregon.errors import RateLimited
from pregon.limits import (
    ENTRY_ADDRESS_FAILURES_MAX,
    ENTRY_NAME_FAILURES_MAX,
    ENTRY_REMEMBERED_MAX,
    ENTRY_WINDOW_MS,
)


class Attempts:
    """Counts failures by key. For one thread at a time."""

    def __init__(self) -> None:
        self._failures: OrderedDict[Hashable, list[float]] = OrderedDict()
        self._succeeded: OrderedDict[tuple[str, str], None] = OrderedDict()

    def begin(self, name: str, address: str, now_ms: float) -> list[Hashable]:
        """An attempt to enter by a name from an address; what to take back if it succeeds. Raises RateLimited."""
        place = _network(address)
        by_name = ("name", name, place) if (name, place) in self._succeeded else ("name", name)
        limits: list[tuple[Hashable, int]] = [(by_name, ENTRY_NAME_FAILURES_MAX)]
        if place:
            limits.append((("address", place), ENTRY_ADDRESS_FAILURES_MAX))
        for key, failures_max in limits:
            self._require_room(key, failures_max, now_ms)
        return [self.count(key, now_ms) for key, _ in limits]

    def begin_with(self, key: Hashable, failures_max: int, now_ms: float) -> list[Hashable]:
        """An attempt at something else that may fail only so often; raises RateLimited."""
        self._require_room(key, failures_max, now_ms)
        return [self.count(key, now_ms)]

    def succeed(self, begun: Sequence[Hashable], name: str = "", address: str = "") -> None:
        """It succeeded: it counts no more, and its address is known from now on."""
        for key in begun:
            times = self._failures.get(key)
            if times:
                times.pop()
            if not times:
                self._failures.pop(key, None)
        if name and address:
            self._succeeded[name, _network(address)] = None
            self._succeeded.move_to_end((name, _network(address)))
            while len(self._succeeded) > ENTRY_REMEMBERED_MAX:
                self._succeeded.popitem(last=False)

    def failures(self, key: Hashable, now_ms: float) -> int:
        """How often it failed within the window."""
        return len(self._recent(key, now_ms))

    def count(self, key: Hashable, now_ms: float) -> Hashable:
        """Count a failure; the key."""
        self._failures[key] = [*self._recent(key, now_ms), now_ms]
        self._failures.move_to_end(key)
        while len(self._failures) > ENTRY_REMEMBERED_MAX:
            self._failures.popitem(last=False)
        return key

    def _recent(self, key: Hashable, now_ms: float) -> list[float]:
        return [one for one in self._failures.get(key, ()) if one > now_ms - ENTRY_WINDOW_MS]

    def _require_room(self, key: Hashable, failures_max: int, now_ms: float) -> None:
        recent = self._recent(key, now_ms)
        if len(recent) >= failures_max:
            wait_s = max(1, round((recent[-failures_max] + ENTRY_WINDOW_MS - now_ms) / 1_000))
            raise RateLimited(f"too many attempts have failed: try again in {_duration(wait_s)}")


def _duration(seconds: int) -> str:
    return f"{seconds} s" if seconds < 120 else f"{-(-seconds // 60)} minutes"


def _network(address: str) -> str:
    """An address as failures are counted by it: of IPv6 the network of one line, which has as many as it likes."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:100]
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)
