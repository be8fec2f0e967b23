"""The interface described: /v1/openapi.json for programs, /docs for people, with everything served from here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from pregon.edges.http.answers import Answer
from pregon.edges.http.exchange import Exchange
from pregon.edges.http.openapi import describe
from pregon.edges.http.routes import Desk, Route
from pregon.errors import NotFound

_STATIC = Path(__file__).parent / "static"
_FILES = {
    "docs.html": "text/html; charset=utf-8",
    "docs.js": "text/javascript; charset=utf-8",
    "docs.css": "text/css; charset=utf-8",
    "swagger-ui.css": "text/css; charset=utf-8",
    "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
}
_POLICY = (
    b"content-security-policy",
    b"default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'",
)


@lru_cache(maxsize=len(_FILES))
def _read(name: str) -> bytes:
    return (_STATIC / name).read_bytes()


async def show_page(_desk: Desk, _exchange: Exchange) -> Answer:
    """The interactive page."""
    return Answer(_read("docs.html"), 200, _FILES["docs.html"], [_POLICY])


async def show_file(_desk: Desk, exchange: Exchange) -> Answer:
    """A file of the page."""
    name = exchange.params["file"]
    if name not in _FILES:
        raise NotFound("the page has no such file")
    return Answer(_read(name), 200, _FILES[name], [_POLICY, (b"cache-control", b"max-age=3600")])


def page_routes(routes: Sequence[Route]) -> list[Route]:
    """The routes that describe the others, and themselves."""
    document: list[bytes] = []

    async def show_document(_desk: Desk, _exchange: Exchange) -> Answer:
        if not document:
            document.append(msgspec.json.encode(describe([*routes, own])))
        return Answer(document[0])

    tag = "machines"
    own = Route(
        method="GET", path="/v1/openapi.json", handler=show_document, tag=tag, summary="This document", answer=dict
    )
    return [
        own,
        Route(
            method="GET", path="/docs", handler=show_page, tag=tag, summary="This document for people",
            answers=("text/html",),
        ),
        Route(
            method="GET", path="/docs/{file}", handler=show_file, tag=tag, summary="A file of that page",
            answers=("text/css", "text/javascript"),
        ),
    ]  # fmt: skip
