"""`pregon doctor`: look at the machine, the disk, the database, the keys and the hub, and say what is wrong.

This has the command and the checks of the machine; those of keys and certificates are in `check_security`, those of
what is pushed in `check_push`.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from rich.markup import escape

from pregon.cli.check_push import check_push
from pregon.cli.check_security import check_security
from pregon.cli.connect import HubOption, JsonOption, connect
from pregon.cli.finding import Finding
from pregon.cli.output import console, show_json, tell
from pregon.cli.serve import find_config
from pregon.errors import PregonError, SettingsInvalid, Unavailable
from pregon.settings import Settings, load_settings
from pregon.version import __version__

commands = typer.Typer()

_SYNCS = 50
_SYNC_US_LEAST = 20
"""No disk syncs faster than this: something answers without writing."""
_SYNC_MS_SLOW = 30
_FREE_BYTES_LEAST = 1 << 30
_SKEW_MS_MAX = 2_000
_SQLITE_LEAST = (3, 35, 0)


@commands.command("doctor")
def doctor(
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="The data directory [env PREGON_DATA; pregon-data]"),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="The hub's file of settings [env PREGON_CONFIG]")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Check every page of the database, however long it takes")
    ] = False,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check versions, disk, database, keys, certificate, hub and pushes; exit status 1 when something is wrong."""
    is_well = True
    for finding in examine(data, config, hub, full=full):
        is_well = is_well and finding.is_well
        if as_json:
            show_json(asdict(finding))
            continue
        mark = "[green]✓[/]" if finding.is_well else "[bold red]✗[/]"
        console().print(f"{mark} [bold]{escape(finding.check)}[/]  {escape(finding.found)}")
        if finding.advice:
            console().print(f"    [yellow]{escape(finding.advice)}[/]")
    if not is_well:
        raise typer.Exit(1)


def examine(data: Path | None, config: Path | None, hub: str | None, *, full: bool) -> Iterator[Finding]:
    """Every check, one after another."""
    yield check_versions()
    try:
        settings = load_settings(find_config(config), os.environ, {"data": str(data) if data else None})
    except SettingsInvalid as error:
        yield Finding("settings", False, str(error), tell("the hub will not start with this", "así no se inicia"))
        settings = Settings(data=str(data or Settings().data))
    directory = Path(settings.data)
    if directory.is_dir():
        yield check_space(directory)
        yield check_sync(directory)
        yield check_database(directory, full=full)
        yield from check_security(directory, settings)
    else:
        yield Finding(
            "data",
            True,
            tell(
                f"{directory} is not there yet: the hub makes it",
                f"{directory} no existe todavía: lo crea el servidor",
            ),
        )
    answer = check_hub(hub)
    yield answer
    if answer.is_well:
        yield from check_push(hub)


def check_versions() -> Finding:
    """The versions of what we stand on."""
    import pyarrow
    import sqlalchemy
    import zmq

    found = (
        f"pregon {__version__}, Python {sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}, "
        f"SQLAlchemy {sqlalchemy.__version__}, Arrow {pyarrow.__version__}, ZeroMQ {zmq.zmq_version()}"
    )
    is_well = sqlite3.sqlite_version_info >= _SQLITE_LEAST
    return Finding("versions", is_well, found, "" if is_well else "install a Python with SQLite 3.35 or newer")


def check_space(directory: Path) -> Finding:
    """Free space."""
    free = shutil.disk_usage(directory).free
    is_well = free >= _FREE_BYTES_LEAST
    advice = tell(
        "free space: a hub on a full disk refuses messages",
        "libere espacio: con el disco lleno se rechazan mensajes",
    )
    return Finding("space", is_well, f"{free / (1 << 30):.1f} GiB free in {directory}", "" if is_well else advice)


def check_sync(directory: Path) -> Finding:
    """How long the disk takes to make a write durable: every acknowledgement waits for one."""
    times_ms = []
    try:
        with tempfile.NamedTemporaryFile(dir=directory, prefix="doctor-") as file:
            for _ in range(_SYNCS):
                begun = time.perf_counter()
                os.write(file.fileno(), b"\0" * 4096)
                os.fdatasync(file.fileno())
                times_ms.append((time.perf_counter() - begun) * 1_000)
    except OSError as error:
        advice = tell("give this user the right to write there", "dé a este usuario permiso de escritura")
        return Finding("sync", False, f"{directory}: {error.strerror}", advice)
    typical_ms = median(times_ms)
    found = f"{typical_ms:.2f} ms (median of {_SYNCS}), {max(times_ms):.2f} ms (worst)"
    if typical_ms * 1_000 < _SYNC_US_LEAST:
        advice = "too fast to be true: this disk may lose acknowledged messages when the power fails"
        return Finding("sync", False, found, advice)
    advice = "slow: a single publication waits this long; batches and concurrent producers share it"
    return Finding("sync", True, found, advice if typical_ms > _SYNC_MS_SLOW else "")


def check_database(directory: Path, *, full: bool) -> Finding:
    """Whether the database is whole, and of which revision."""
    from pregon.store.database import DATABASE_FILE, translate_sqlite
    from pregon.store.schema import HEAD_REVISION

    path = directory / DATABASE_FILE
    if not path.exists():
        return Finding("database", True, tell("none yet", "todavía no hay"))
    try:
        connection = sqlite3.connect(path.resolve().as_uri() + "?mode=ro", uri=True, timeout=5)
        try:
            (revision,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
            topics, messages, size = connection.execute(
                "SELECT count(*), coalesce(sum(head_seq - tail_seq + 1), 0), coalesce(sum(bytes), 0) FROM topic"
            ).fetchone()
            verdict = "not asked for (--full checks every page)"
            if full:
                verdict = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.Error as error:
        return Finding("database", False, str(error), str(translate_sqlite(error, path)))
    found = (
        f"revision {revision}, {topics:,} topics, {messages:,} messages, {size / (1 << 20):,.1f} MiB; "
        f"integrity: {verdict}"
    )
    if full and verdict != "ok":
        return Finding("database", False, found, "stop the hub, keep a copy of the directory, restore a backup")
    if revision > HEAD_REVISION:
        return Finding("database", False, found, f"written by a newer Pregón: this one knows up to {HEAD_REVISION}")
    advice = (
        ""
        if revision == HEAD_REVISION
        else f"this Pregón works with revision {HEAD_REVISION}: starting the hub upgrades an older one"
    )
    return Finding("database", True, found, advice)


def check_hub(hub: str | None) -> Finding:
    """Whether a hub answers, of which version, and whether its clock agrees with ours."""
    from pregon.clock import wall_us

    try:
        with connect(hub, timeout_ms=1_500) as client:
            pong = client.ping()
            skew_ms = abs(pong.now_us - wall_us()) / 1_000
            found = f"{client.hub}: version {pong.version}, clock {skew_ms:.0f} ms apart"
    except PregonError as error:
        advice = tell("start one with `pregon serve`", "inicie uno con `pregon serve`")
        return Finding("hub", False, str(error), advice if isinstance(error, Unavailable) else "")
    if skew_ms > _SKEW_MS_MAX:
        return Finding("hub", False, found, "set the clocks (NTP): traces of the two machines will disagree")
    return Finding("hub", True, found, "" if pong.version == __version__ else f"this client is {__version__}")
