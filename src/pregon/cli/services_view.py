"""`pregon services …`: look at the broker of a hub, and operate it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pregon.cli.connect import HubOption, JsonOption, MaxOption, connect
from pregon.cli.output import console, show_fields, show_json, show_rows, tell
from pregon.errors import BadRequest, NotFound

commands = typer.Typer()

Number = int | None
Text = str | None
PolicyOption = Annotated[Text, typer.Option("--policy", help="round-robin, longest-idle or least-loaded")]
LivenessOption = Annotated[Text, typer.Option("--liveness", help="beats, beats-when-busy or answers")]
BeatOption = Annotated[Number, typer.Option("--beat-ms", help="How often workers are listened for")]
PatienceOption = Annotated[Number, typer.Option("--patience", help="Beats missed until a worker is given up")]
AnswerOption = Annotated[Number, typer.Option("--answer-ms", help="The time limit of an answer")]
AttemptsOption = Annotated[Number, typer.Option("--attempts", help="Workers lost with a request until it is set aside")]
QueueOption = Annotated[Number, typer.Option("--queue", help="Requests that may wait in a service")]
WaitOption = Annotated[Number, typer.Option("--wait-ms", help="How long a request may wait for a worker")]
_TypeArgument = Annotated[str, typer.Argument(metavar="TYPE", help="The job type")]
_NumberArgument = Annotated[int, typer.Argument(metavar="NUMBER", help="Its number, which `poison` shows")]
SERVICE_COLUMNS = (
    "type", "version", "workers", "slots", "free", "waiting", "in_hand", "answered", "failed", "refused",
    "redispatched", "work_ms", "policy",
)  # fmt: skip
WORKER_COLUMNS = (
    "name", "types", "state", "load", "slots", "free", "in_hand", "heard_ms_ago", "answered", "failed", "lost", "form",
)  # fmt: skip
_REQUEST_COLUMNS = ("service", "state", "client", "worker", "since_ms", "priority", "attempts", "bytes", "durable_id")
_RECENT_COLUMNS = (
    "service", "outcome", "worker", "policy", "load", "waited_ms", "worked_ms", "attempts", "client", "ended_ms_ago",
)  # fmt: skip
_POISON_COLUMNS = ("number", "service", "client", "lost_workers", "reason", "bytes", "durable_id", "body")
_DURABLE_COLUMNS = ("id", "service", "state", "attempts", "submitted_us", "ended_us", "code", "message")


def with_policy(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Services with the option that people look for first in a column of its own."""
    return [{**row, "policy": row["options"]["policy"]} for row in rows]


def _show(hub: str | None, kind: str, columns: tuple[str, ...], as_json: bool, rows_max: int = 100) -> None:
    with connect(hub) as client:
        rows = client.list(kind, max=rows_max)
    shown = with_policy(rows) if kind == "service" and not as_json else rows
    show_rows(shown, columns, as_json=as_json, empty=tell("none", "ninguno"))


def _say(text: str, as_json: bool) -> None:
    if not as_json:
        console().print(text, markup=False)


@commands.command("list")
def list_services(hub: HubOption = None, as_json: JsonOption = False) -> None:
    """Every service: its workers, what waits, what was answered, how it is run."""
    _show(hub, "service", SERVICE_COLUMNS, as_json)


@commands.command("workers")
def list_workers(hub: HubOption = None, as_json: JsonOption = False) -> None:
    """Every worker: what it serves, how it is, when it was last heard."""
    _show(hub, "worker", WORKER_COLUMNS, as_json)


@commands.command("requests")
def list_requests(rows_max: MaxOption = 100, hub: HubOption = None, as_json: JsonOption = False) -> None:
    """What workers have, and what waits."""
    _show(hub, "request", _REQUEST_COLUMNS, as_json, rows_max)


@commands.command("recent")
def list_recent(rows_max: MaxOption = 100, hub: HubOption = None, as_json: JsonOption = False) -> None:
    """The last requests that ended: which worker was chosen, by which policy, and how long it took."""
    _show(hub, "recent", _RECENT_COLUMNS, as_json, rows_max)


@commands.command("durable")
def list_durable(
    service: Annotated[str, typer.Option("--type", help="Only of this job type")] = "",
    state: Annotated[str, typer.Option("--state", help="waiting, answered, failed or parked")] = "",
    after: Annotated[str, typer.Option("--after", metavar="ID", help="Those after this id")] = "",
    rows_max: MaxOption = 100,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Durable requests and how they stand, by id."""
    with connect(hub) as client:
        rows = client.list("durable", names=[service, state], after=[after], max=rows_max)
    show_rows(rows, _DURABLE_COLUMNS, as_json=as_json, empty=tell("none", "ninguna"))


@commands.command("poison")
def list_poison(hub: HubOption = None, as_json: JsonOption = False) -> None:
    """Requests that were set aside because worker after worker was lost with them."""
    _show(hub, "poison", _POISON_COLUMNS, as_json)


@commands.command("release")
def release(number: _NumberArgument, hub: HubOption = None, as_json: JsonOption = False) -> None:
    """Have a durable request that was set aside worked on again."""
    with connect(hub) as client:
        client.create("poison", number=number)
    _say(tell(f"{number} is worked on again", f"{number} vuelve a procesarse"), as_json)


@commands.command("drop")
def drop(number: _NumberArgument, hub: HubOption = None, as_json: JsonOption = False) -> None:
    """Forget a request that was set aside."""
    with connect(hub) as client:
        client.delete("poison", str(number))
    _say(tell(f"{number} is forgotten", f"{number} se olvidó"), as_json)


@commands.command("set")
def set_options(
    job_type: _TypeArgument,
    policy: PolicyOption = None,
    liveness: LivenessOption = None,
    beat_ms: BeatOption = None,
    patience: PatienceOption = None,
    answer_ms: AnswerOption = None,
    attempts: AttemptsOption = None,
    queue: QueueOption = None,
    wait_ms: WaitOption = None,
    durable: Annotated[
        bool | None, typer.Option("--durable/--no-durable", help="Whether requests may be durable")
    ] = None,
    keep_results_ms: Annotated[
        Number, typer.Option("--keep-results-ms", help="How long results wait to be collected")
    ] = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a service in another way, from now on; what waits and what is under way stays."""
    given: dict[str, Any] = {
        "policy": policy, "liveness": liveness, "beat_ms": beat_ms, "patience": patience, "answer_ms": answer_ms,
        "attempts_max": attempts, "queue_max": queue, "wait_ms": wait_ms, "durable": durable,
        "keep_results_ms": keep_results_ms,
    }  # fmt: skip
    values = {name: value for name, value in given.items() if value is not None}
    if not values:
        raise BadRequest("say what to change: --policy, --liveness, --answer-ms …")
    with connect(hub) as client:
        changed = client.update("service", job_type, **values)
    if as_json:
        show_json(changed)
    else:
        show_fields(changed["options"], as_json=False)


@commands.command("reset")
def reset_options(job_type: _TypeArgument, hub: HubOption = None, as_json: JsonOption = False) -> None:
    """Run a service as all the others."""
    with connect(hub) as client:
        if not client.delete("service", job_type):
            raise NotFound(f"{job_type} has no options of its own")
    _say(tell(f"{job_type} is run as all the others", f"{job_type} funciona como los demás"), as_json)


@commands.command("top")
def top(
    once: Annotated[bool, typer.Option("--once", help="Show it once and end")] = False,
    every_ms: Annotated[int, typer.Option("--every-ms", min=100, max=60_000, help="How often to look")] = 1_000,
    hub: HubOption = None,
) -> None:
    """Services, workers and requests, live in the terminal, until Ctrl-C."""
    from pregon.cli.services_top import show_top

    with connect(hub) as client:
        show_top(client, every_ms, once=once)
