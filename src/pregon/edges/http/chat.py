"""The chat in a browser: /chat, and the files that it is made of. What it says to the hub goes over `groups_socket`.

Promises:
- Nothing comes from elsewhere, and nothing that is not one of these files runs in the page: no script or style in the
  page itself, and no text that is taken for markup (the browser refuses it, should a bug try).
- A browser asks each time whether its copy is still good, so that the files of two versions never meet in one page.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from pregon.edges.http.answers import Answer
from pregon.edges.http.exchange import Exchange
from pregon.edges.http.routes import Desk, Route
from pregon.errors import NotFound

_FOLDER = Path(__file__).parent / "static" / "chat"
_PAGE = "chat.html"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FILES = {file.name: _TYPES[file.suffix] for file in sorted(_FOLDER.iterdir()) if file.suffix in _TYPES}
_POLICY = (
    b"content-security-policy",
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    b"require-trusted-types-for 'script'; trusted-types 'none'",
)
_KEPT = [(b"cache-control", b"no-cache"), (b"referrer-policy", b"no-referrer"), _POLICY]


@lru_cache(maxsize=len(_FILES))
def _read(name: str) -> tuple[bytes, str]:
    """A file, and the mark by which a browser's copy is known to be the same."""
    body = (_FOLDER / name).read_bytes()
    return body, f'"{sha256(body).hexdigest()[:32]}"'


def _answer(exchange: Exchange, name: str) -> Answer:
    body, mark = _read(name)
    headers = [(b"etag", mark.encode()), *_KEPT]
    if exchange.header(b"if-none-match") == mark:
        return Answer(b"", 304, "", headers)
    return Answer(body, 200, f"{_FILES[name]}; charset=utf-8", headers)


async def show_page(desk: Desk, exchange: Exchange) -> Answer:
    """The page."""
    desk.require_groups()
    return _answer(exchange, _PAGE)


async def show_file(desk: Desk, exchange: Exchange) -> Answer:
    """A file of the page."""
    desk.require_groups()
    name = exchange.params["file"]
    if name not in _FILES:
        raise NotFound("the chat has no such file")
    return _answer(exchange, name)


ROUTES = [
    Route(
        method="GET", path="/chat", handler=show_page, tag="groups", summary="The chat in a browser",
        answers=("text/html",),
    ),
    Route(
        method="GET", path="/chat/{file}", handler=show_file, tag="groups", summary="A file of that page",
        answers=("text/css", "text/javascript", "image/svg+xml"),
    ),
]  # fmt: skip
