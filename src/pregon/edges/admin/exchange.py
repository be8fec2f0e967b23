"""A request to the pages and its answer, as the door takes and gives them; HTTP itself is left to others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminRequest:
    """What a browser asks."""

    method: str
    path: str
    """Below /admin, without the slash at its beginning."""
    query: str = ""
    body: bytes = b""
    content_type: str = ""
    cookies: str = ""
    languages: str = ""
    """The header Accept-Language."""
    address: str = ""
    """Where it comes from, as far as the connection tells."""
    base_url: str = ""
    """How this browser reaches the hub: the beginning of every address of it."""
    is_fragment: bool = False
    """Whether a page asks for a part of itself, not a person for a page."""

    @property
    def is_secure(self) -> bool:
        """Whether it came by https, as far as the hub knows."""
        return self.base_url.startswith("https:")


@dataclass(slots=True)
class AdminAnswer:
    """What the browser gets: a body, or chunks of one that are made while they are sent."""

    body: bytes = b""
    status: int = 200
    content_type: str = HTML
    headers: list[tuple[str, str]] = field(default_factory=list)
    chunks: Iterator[bytes] | None = None
