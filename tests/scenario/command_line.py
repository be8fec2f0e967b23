"""The `pregon` command, run as people and programs run it: in a process, with what it says kept apart."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .hub_process import COMMAND, clean_environment


@dataclass(frozen=True)
class Said:
    """What a command answered."""

    status: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Standard output as JSON, a value a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def row(self) -> dict[str, Any]:
        """Standard output as the one JSON value that it has."""
        (row,) = self.rows
        return row

    @property
    def error(self) -> dict[str, Any]:
        """Standard error as the one JSON object that it has."""
        error: dict[str, Any] = json.loads(self.err)
        return error


def run(
    *arguments: str | Path,
    hub: str | None = None,
    key: str | None = None,
    stdin: str | bytes = b"",
    cwd: Path | None = None,
    **variables: str,
) -> Said:
    """Run a command to its end, with these variables of the environment; fails if it shows a traceback."""
    if hub is not None:
        variables["PREGON_HUB"] = hub
    if key is not None:
        variables["PREGON_KEY"] = key
    ended = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        env=clean_environment(**variables),
        cwd=cwd,
        timeout=20,
        check=False,
    )
    said = Said(ended.returncode, ended.stdout.decode(errors="backslashreplace"), ended.stderr.decode())
    assert "Traceback" not in said.err, said.err
    return said
