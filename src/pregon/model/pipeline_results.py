"""How the results of the pipeline's steps lie in a folder, and what says which of them is the newest.

    OUTPUT/service-levels/20261116T200102Z-5f3a9c21/figures.json
    OUTPUT/service-levels/latest.json      the name of the newest folder, when it was made, and of what

`spark.pipelines.results` writes them, the administration pages read them.

Promises:
- `latest.json` is checked when it is decoded: it names a folder beside it, and no other place.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from pregon.errors import BadRequest
from pregon.model.pipeline_figures import Count, Text

RESULTS_FOLDER = "pregon-pipelines"
"""Where results go, and are looked for, if nobody says otherwise."""
LATEST_FILE = "latest.json"
FIGURES_FILE = "figures.json"
REPORT_FILE = "report.html"
LATEST_BYTES_MAX = 1024 * 1024
REPORT_BYTES_MAX = 32 * 1024 * 1024
FOLDER_PATTERN = r"^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}$"
SOURCES_MAX = 1_000
"""Topics that are told one by one; the others are left out of `sources`."""


class Source(Struct, frozen=True, kw_only=True):
    """What a step was made of: a table, and from which to which of its numbers."""

    table: Text
    topic: Text = ""
    first: Count | None = None
    last: Count | None = None
    rows: Count = 0


class Made(Struct, frozen=True, kw_only=True):
    """What `latest.json` says: which folder, when it was made, how long it took, and of what."""

    step: Text
    folder: Annotated[str, Meta(pattern=FOLDER_PATTERN)]
    made_at: Text
    took_ms: Count
    rows: dict[Text, Count]
    """The Parquet tables in the folder, and their rows."""
    hub: Text
    archive: Text = ""
    sources: Annotated[list[Source], Meta(max_length=SOURCES_MAX)] = []
    version: Text = ""


def decode_latest(step: str, text: bytes, path: str) -> Made:
    """What the newest result of a step is; raises BadRequest, which names the file."""
    again = f"run `pregon pipeline run {step}` again"
    if len(text) > LATEST_BYTES_MAX:
        raise BadRequest(f"{path} has more than {LATEST_BYTES_MAX} bytes: {again}")
    try:
        made = msgspec.json.decode(text, type=Made)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"{path} cannot be read ({error}): {again}") from error
    if made.step != step:
        raise BadRequest(f"{path} is of {made.step[:40]!r}: {again}")
    return made
