"""`pregon pipeline`: run the data pipeline on Spark, stream, look how far it is, and write its report.

The steps themselves are in `pregon.spark.pipelines`; here they meet their options and the terminal. PySpark is imported
only by the commands that need it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pregon.addresses import HUB_VARIABLE, KEY_VARIABLE
from pregon.cli.connect import CERTIFICATE_VARIABLE, JsonOption, parse_duration_ms
from pregon.cli.output import console, show_json, tell
from pregon.errors import BadRequest, DataLost, PregonError, SettingsInvalid
from pregon.model.pipeline_results import REPORT_FILE, RESULTS_FOLDER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pregon.spark.pipelines.inputs import Place

app = typer.Typer(no_args_is_help=True, help="The data pipeline, on Spark")

RESULTS_DEFAULT = Path(RESULTS_FOLDER)
_SECOND_MS = 1_000
_SPAN_S_MAX = 7 * 86_400
_LOCAL_SETTINGS = {
    # A laptop has few cores: two hundred small tasks after every exchange would cost more than the work.
    "spark.sql.shuffle.partitions": "16",
    "spark.driver.memory": "2g",
}

HubHttpOption = Annotated[
    str | None,
    typer.Option(
        "--hub",
        metavar="URL",
        help=f"The hub's HTTP door: http:// or https:// [env {HUB_VARIABLE}, if it is one; http://127.0.0.1:5580]. "
        f"The key to present is read from the variable {KEY_VARIABLE} only",
    ),
]
ArchiveOption = Annotated[
    str,
    typer.Option("--archive", metavar="DIR", envvar="PREGON_ARCHIVE", help="The archive: a folder, hdfs://, s3a://"),
]
OutputOption = Annotated[Path, typer.Option("--output", metavar="DIR", help="Where results go")]
ResultsOption = Annotated[Path, typer.Option("--results", metavar="DIR", help="Where the results are")]
MasterOption = Annotated[
    str | None, typer.Option("--master", metavar="MASTER", help="Spark's master [local[*], or what spark-submit says]")
]
TopicsOption = Annotated[str, typer.Option("--topics", metavar="NAMES", help="Only these, with commas between them")]
PatternOption = Annotated[str, typer.Option("--pattern", metavar="REGEX", help="Only topics whose whole name matches")]
WindowOption = Annotated[str, typer.Option("--window", metavar="DURATION", help="How long a window of traffic is")]
AcceptLossOption = Annotated[
    bool,
    typer.Option("--accept-loss", help="Go on without what was removed before it was read or archived"),
]
ConfOption = Annotated[
    list[str] | None, typer.Option("--conf", metavar="NAME=VALUE", help="A setting of Spark; may be repeated")
]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="Show all that Spark says")]


@app.command("run")
def run(
    steps: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STEP]...",
            help="archive, deliveries, service-levels, reconciliation, causality, traffic; else all of them",
        ),
    ] = None,
    hub: HubHttpOption = None,
    archive: ArchiveOption = "",
    output: OutputOption = RESULTS_DEFAULT,
    master: MasterOption = None,
    topics: TopicsOption = "",
    pattern: PatternOption = "",
    window: WindowOption = "1m",
    accept_loss: AcceptLossOption = False,
    conf: ConfOption = None,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run steps of the pipeline once; exit status 1 if something does not add up or came out of order."""
    window_s = _seconds("--window", window)
    with _needs_spark(verbose):
        from pregon.cli.pipeline_screen import RunScreen
        from pregon.spark.pipelines.results import Results
        from pregon.spark.pipelines.running import run_steps
        from pregon.spark.pipelines.steps import choose_steps

        place = _place(hub, archive, topics, pattern, accepts_loss=accept_loss)
        # What is wrong is said before a session is started, which takes seconds.
        choose_steps(steps or [], has_archive=bool(archive))
        with RunScreen(as_json=as_json) as screen, _session(master, conf, verbose) as spark:
            screen.spark = spark
            ended = run_steps(spark, place, Results(output), steps or [], window_s=window_s, watch=screen)
    if not all(one.outcome.is_right for one in ended):
        raise typer.Exit(1)


@app.command("stream")
def stream(
    name: Annotated[str, typer.Argument(metavar="NAME", help="archive or traffic-alerts")],
    hub: HubHttpOption = None,
    archive: ArchiveOption = "",
    output: OutputOption = RESULTS_DEFAULT,
    master: MasterOption = None,
    topics: TopicsOption = "",
    pattern: PatternOption = "",
    window: WindowOption = "1m",
    accept_loss: AcceptLossOption = False,
    every: Annotated[str, typer.Option("--every", metavar="DURATION", help="How often to look for more")] = "10s",
    conf: ConfOption = None,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run a stream until SIGTERM or Ctrl-C, which end it after its batch."""
    window_s, every_s = _seconds("--window", window), _seconds("--every", every)
    with _needs_spark(verbose):
        from pregon.cli.pipeline_screen import StreamScreen, stopping_signals
        from pregon.spark.pipelines.results import Results
        from pregon.spark.pipelines.streaming import check_stream, follow_streams, start_streams

        place, results = _place(hub, archive, topics, pattern, accepts_loss=accept_loss), Results(output)
        check_stream(name, place)
        with _session(master, conf, verbose) as spark, stopping_signals() as is_stopping:
            queries = start_streams(spark, place, results, name, every_s=every_s, window_s=window_s)
            with StreamScreen(name, results, as_json=as_json) as screen:
                follow_streams(queries, is_stopping, screen.show)


@app.command("status")
def status(
    hub: HubHttpOption = None,
    archive: ArchiveOption = "",
    results: ResultsOption = RESULTS_DEFAULT,
    topics: TopicsOption = "",
    pattern: PatternOption = "",
    as_json: JsonOption = False,
) -> None:
    """Show what ran when, how far the archive is, and how far the streams are."""
    with _needs_spark():
        import msgspec

        from pregon.cli.pipeline_screen import show_status
        from pregon.spark.pipelines.results import Results
        from pregon.spark.pipelines.status import find_status

        found = find_status(Results(results), _place(hub, archive, topics, pattern))
        if as_json:
            show_json(msgspec.to_builtins(found))
        else:
            show_status(found)


@app.command("report")
def report(
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help=f"The page [{REPORT_FILE} among the results]")
    ] = None,
    results: ResultsOption = RESULTS_DEFAULT,
    lang: Annotated[
        str | None, typer.Option("--lang", metavar="es|en", help="The language it begins in; else as the locale says")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write one page with what the steps found, in Spanish and English, and the same figures as JSON beside it."""
    with _needs_spark():
        from pregon.spark.pipelines.results import Results
        from pregon.spark.report.writing import write_report

        page, figures, steps = write_report(
            Results(results), output if output is not None else results / REPORT_FILE, lang or tell("en", "es")
        )
    if as_json:
        show_json({"page": str(page), "figures": str(figures), "steps": steps})
        return
    console().print(f"{page}: {tell('steps', 'pasos')} {', '.join(steps)}", markup=False)
    console().print(
        f"{figures}: {tell('the same figures, for programs', 'las mismas cifras, para programas')}", markup=False
    )


def _place(hub: str | None, archive: str, topics: str, pattern: str, *, accepts_loss: bool = False) -> Place:
    """Where the tables are, checked before anything is started."""
    from pregon.spark.options import read_options
    from pregon.spark.pipelines.inputs import Place

    source = {"hub": hub} if hub is not None else {}
    address = read_options(source).hub
    certificate = os.environ.get(CERTIFICATE_VARIABLE, "") if address.startswith("https:") else ""
    source |= {"hub": address, **({"certificate": certificate} if certificate else {})}
    chosen = {name: text for name, text in (("subscribe", topics), ("subscribePattern", pattern)) if text}
    options = read_options({**source, **chosen})
    return Place(
        source=source, archive=archive, topics=options.topics, pattern=options.pattern, accepts_loss=accepts_loss
    )


@contextmanager
def _session(master: str | None, conf: list[str] | None, verbose: bool) -> Iterator[SparkSession]:
    """A session that says nothing by itself, and ends with the command; one that runs already goes on after it."""
    from pyspark import SparkContext

    from pregon.spark.session import session

    settings = dict(_setting(text) for text in conf or [])
    if (master or "local").split("[")[0] == "local":
        settings = {**_LOCAL_SETTINGS, **settings}
    is_ours = SparkContext._active_spark_context is None
    spark = session("pregon pipeline", master=master, settings=settings)
    try:
        if is_ours:
            # What fails is told by us; what Spark would say of it again is for who asks.
            spark.sparkContext.setLogLevel("WARN" if verbose else "OFF")
        yield spark
    finally:
        if is_ours:
            spark.stop()


def _setting(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not name:
        raise BadRequest(f"--conf is {text[:80]!r}: write NAME=VALUE, as in spark.driver.memory=4g")
    return name.strip(), value


def _seconds(option: str, text: str) -> int:
    ms = parse_duration_ms(text) or 0
    if not _SECOND_MS <= ms <= _SPAN_S_MAX * _SECOND_MS or ms % _SECOND_MS:
        raise BadRequest(f"{option} is {text[:40]!r}: write whole seconds from 1s to 7d")
    return ms // _SECOND_MS


@contextmanager
def _needs_spark(verbose: bool = False) -> Iterator[None]:
    """Says what to install where PySpark is missing; shows all of an error to who wants it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("pyspark", "py4j", "pandas"):
            raise
        raise SettingsInvalid("the pipeline needs Spark: pip install 'pregon[spark]'") from error
    except PregonError as error:
        if verbose:
            console(stderr=True).print_exception()
        if isinstance(error, DataLost):
            raise DataLost(f"{error}. Of this command that is --accept-loss") from error
        raise
