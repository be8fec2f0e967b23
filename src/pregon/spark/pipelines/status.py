"""What ran when, and how far everything is: the steps, the archive, the streams.

No Spark is started for it: results are files, and so is an archive on this machine's disk. Of an archive elsewhere it
tells what the last step said.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import msgspec

from pregon.errors import BadRequest, PregonError
from pregon.model.pipeline_figures import ARCHIVE, STEPS, ArchiveFigures
from pregon.spark.archive.files import LocalFiles
from pregon.spark.pipelines.archiving import archive_figures, heads_of
from pregon.spark.pipelines.inputs import Place
from pregon.spark.pipelines.results import Results
from pregon.spark.pipelines.streaming import STREAMS, find_progress


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """Everything."""

    steps: list[dict[str, Any]]
    archive: ArchiveFigures | None
    streams: list[dict[str, Any]]
    notes: list[str]
    """What could not be told, and why."""


def find_status(results: Results, place: Place) -> Status:
    """What ran when and how far it is; a hub that does not answer, or a result that cannot be read, is a note."""
    notes: list[str] = []
    steps: list[dict[str, Any]] = []
    for step in STEPS:
        try:
            made = results.find_latest(step)
        except BadRequest as error:
            notes.append(str(error))
            continue
        if made is None:
            steps.append({"step": step, "made_at": None})
        else:
            steps.append(
                {"step": step, "made_at": made.made_at, "took_ms": made.took_ms, "rows": made.rows, "hub": made.hub}
            )
    return Status(
        steps=steps, archive=_find_archive(results, place, notes), streams=_streams(results, notes), notes=notes
    )


def _streams(results: Results, notes: list[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name in STREAMS:
        try:
            seen = find_progress(results, name) or []
        except BadRequest as error:
            notes.append(str(error))
            continue
        rows += [{"stream": name, **msgspec.to_builtins(one)} for one in seen]
    return rows


def _find_archive(results: Results, place: Place, notes: list[str]) -> ArchiveFigures | None:
    """How far the archive is: as its commits say, or else as the last step that ran said."""
    if not place.archive or not is_local(place.archive):
        try:
            found = results.find_figures(ARCHIVE)
        except BadRequest as error:
            notes.append(str(error))
            return None
        if found is None:
            return None
        made, figures = found
        assert isinstance(figures, ArchiveFigures)
        notes.append(f"the archive as it was at {made.made_at}")
        return figures
    heads = None
    try:
        heads = heads_of(place)
    except PregonError as error:
        notes.append(f"the hub was not asked: {error}")
    return archive_figures(LocalFiles(urlsplit(place.archive).path), place, heads)


def is_local(archive: str) -> bool:
    """Whether an archive is on this machine's disk."""
    return urlsplit(archive).scheme in ("", "file")
