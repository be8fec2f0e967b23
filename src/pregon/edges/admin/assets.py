"""The files that the pages are made of: style, scripts, icon. Each has its content in its address, and is kept long."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path

from pregon.edges.admin.exchange import AdminAnswer
from pregon.errors import NotFound

_FOLDER = Path(__file__).parent / "static"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
PREFIX = "static/"


@cache
def _files() -> dict[str, tuple[bytes, str, str]]:
    """The body, the type and the mark of each file."""
    return {
        file.name: ((body := file.read_bytes()), _TYPES[file.suffix], sha256(body).hexdigest()[:16])
        for file in sorted(_FOLDER.iterdir())
        if file.suffix in _TYPES
    }


def asset(name: str) -> str:
    """The address of a file; another one when the file has changed."""
    return f"/admin/{PREFIX}{name}?v={_files()[name][2]}"


def show_asset(path: str) -> AdminAnswer:
    """A file; raises NotFound."""
    found = _files().get(path.removeprefix(PREFIX))
    if found is None:
        raise NotFound("the pages have no such file")
    body, media_type, mark = found
    headers = [("cache-control", "public, max-age=31536000, immutable"), ("etag", f'"{mark}"')]
    return AdminAnswer(body, 200, f"{media_type}; charset=utf-8", headers)
