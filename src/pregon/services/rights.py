"""Who may ask for which job types, and who may serve them."""

from __future__ import annotations

from typing import Protocol


class Rights(Protocol):
    """Says so; of somebody by the name of its CURVE key, empty for nobody known."""

    def may_enter(self, user: str) -> bool:
        """Whether it may look around and collect at all."""
        ...

    def may_ask(self, user: str, job_type: str) -> bool:
        """Whether requests of this type are taken from it."""
        ...

    def may_serve(self, user: str, job_type: str) -> bool:
        """Whether it is given requests of this type."""
        ...


class Everybody:
    """No rights are asked for."""

    def may_enter(self, user: str) -> bool:
        """Yes."""
        return True

    def may_ask(self, user: str, job_type: str) -> bool:
        """Yes."""
        return True

    def may_serve(self, user: str, job_type: str) -> bool:
        """Yes."""
        return True
