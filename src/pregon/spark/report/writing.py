"""Writing the report: the page, and beside it the same figures as JSON."""

from __future__ import annotations

from pathlib import Path

import msgspec

from pregon.clock import format_us, wall_us
from pregon.errors import BadRequest
from pregon.spark.pipelines.results import Results, read_all, write_whole
from pregon.spark.report.page import describe, render_page

_SUFFIXES = (".html", ".htm")


def write_report(results: Results, page: Path, lang: str) -> tuple[Path, Path, list[str]]:
    """Write both; where they are, and which steps are in them. Raises BadRequest."""
    if page.suffix.lower() not in _SUFFIXES:
        raise BadRequest(f"{page} is to be a page: end its name in .html")
    found = read_all(results)
    if not found:
        raise BadRequest(f"there are no results in {results.root}: make some with `pregon pipeline run`")
    made_at = format_us(wall_us())
    figures = page.with_suffix(".json")
    text = render_page(found, lang, made_at)
    write_whole(figures, msgspec.json.format(msgspec.json.encode(describe(found, made_at)), indent=2) + b"\n")
    write_whole(page, text.encode())
    return page, figures, list(found)
