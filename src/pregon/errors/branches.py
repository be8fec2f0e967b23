"""The root of the errors and its three branches: what the caller can do about it."""

from __future__ import annotations

from typing import ClassVar


class PregonError(Exception):
    """The root: catch this one to catch everything that Pregón raises."""

    code: ClassVar[str] = "error"
    exit_status: ClassVar[int] = 1

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return isinstance(self, Unavailable)


class Rejected(PregonError):
    """The request cannot succeed as it is; change it."""

    code = "rejected"
    exit_status = 2


class Unavailable(PregonError):
    """Not now; the same request may succeed later."""

    code = "unavailable"
    exit_status = 5


class Corrupt(PregonError):
    """Something is broken and a person must look."""

    code = "corrupt"
    exit_status = 6
