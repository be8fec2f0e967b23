"""Who comes in by a CURVE key, and which job types it may ask for and serve. In memory, renewed when it changes.

Without CURVE nobody is known, and the rights are those of the hub: everybody's, or nobody's where keys are required.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pregon.model.service import CurveKey
from pregon.security.curve import opens


class Keyholders:
    """Rights by key. Read in the broker's thread, renewed in the committer's: each look is at one whole table."""

    def __init__(self, keys: Iterable[CurveKey] = ()) -> None:
        self._by_public: dict[str, CurveKey] = {}
        self._by_name: dict[str, CurveKey] = {}
        self.renew(keys)

    def renew(self, keys: Iterable[CurveKey]) -> None:
        """These are the keys now."""
        known = list(keys)
        self._by_public = {one.public: one for one in known}
        self._by_name = {one.name: one for one in known}

    def all(self) -> list[CurveKey]:
        """Those who may come in, by name."""
        return [self._by_name[name] for name in sorted(self._by_name)]

    def is_known(self, public: str) -> bool:
        """Whether a key may come in."""
        return public in self._by_public

    def name_of(self, public: str) -> str:
        """Whose key it is; empty for one that was deleted while it was connected."""
        found = self._by_public.get(public)
        return found.name if found is not None else ""

    def may_enter(self, user: str) -> bool:
        """Whether its key is still known."""
        return user in self._by_name

    def may_ask(self, user: str, job_type: str) -> bool:
        """Whether requests of this type are taken from it."""
        found = self._by_name.get(user)
        return found is not None and opens(found.asks, job_type)

    def may_serve(self, user: str, job_type: str) -> bool:
        """Whether it is given requests of this type."""
        found = self._by_name.get(user)
        return found is not None and opens(found.serves, job_type)


class AsTheHub:
    """Rights where there is no CURVE: everybody's, unless the hub requires keys."""

    def __init__(self, is_free: Callable[[], bool]) -> None:
        self._is_free = is_free

    def may_enter(self, user: str) -> bool:
        """As the hub's rules say."""
        return self._is_free()

    def may_ask(self, user: str, job_type: str) -> bool:
        """The same."""
        return self._is_free()

    def may_serve(self, user: str, job_type: str) -> bool:
        """The same."""
        return self._is_free()
