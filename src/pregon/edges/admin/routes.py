"""The table of pages: which address is answered by whom, and what one must be allowed to open it.

Whoever may not is told so before anything is looked up; the gate asks again for each verb. On an open hub the gate lets
everybody do everything, so that what a reader of the pages may not do is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pregon.edges.admin.exchange import AdminAnswer
from pregon.errors import MethodUnknown, NotFound
from pregon.limits import ADMIN_FORM_BYTES_MAX
from pregon.security.keys import READ

if TYPE_CHECKING:
    from pregon.edges.admin.visit import Visit

NOBODY = ""
"""The scope of pages that are shown before one has entered."""


@dataclass(frozen=True, slots=True)
class Page:
    """An address, and who answers it."""

    method: str
    path: str
    """Below /admin: `topics/{topic}`."""
    handler: Callable[[Visit], AdminAnswer]
    scope: str = READ
    is_live: bool = False
    """Whether pages ask for it by themselves, again and again: that keeps nobody's session alive."""
    form_bytes_max: int = ADMIN_FORM_BYTES_MAX
    """How large its form may be; before one has entered, `ADMIN_ENTRY_BYTES_MAX` whatever this says."""


class PageRouter:
    """Finds pages."""

    def __init__(self, pages: Iterable[Page]) -> None:
        self._pages: dict[int, list[tuple[list[str], Page]]] = {}
        for page in pages:
            segments = page.path.split("/")
            self._pages.setdefault(len(segments), []).append((segments, page))
        for listed in self._pages.values():
            # What is written out goes before what could be anything: `topics/new` before `topics/{topic}`.
            listed.sort(key=lambda one: [segment.startswith("{") for segment in one[0]])

    def find(self, method: str, path: str) -> tuple[Page, dict[str, str]]:
        """The page at an address and the names in it; raises NotFound or MethodUnknown."""
        wanted = path.rstrip("/").split("/")
        others = []
        for segments, page in self._pages.get(len(wanted), ()):
            names = _match(segments, wanted)
            if names is not None:
                if page.method == ("GET" if method == "HEAD" else method):
                    return page, names
                others.append(page.method)
        if others:
            raise MethodUnknown(f"this address has {', '.join(sorted(others))}")
        raise NotFound("there is no page at this address")


def _match(segments: list[str], wanted: list[str]) -> dict[str, str] | None:
    names: dict[str, str] = {}
    for segment, value in zip(segments, wanted, strict=True):
        if segment.startswith("{"):
            if not value:
                return None
            names[segment[1:-1]] = value
        elif segment != value:
            return None
    return names
