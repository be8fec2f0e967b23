"""The steps: of which tables each is made, which tables it writes, and its figures.

A step writes its tables into a folder of its own and reads back from there what it counts, so that nothing is computed
twice and what is told is what is on disk.

Promises:
- Rows are counted in the files, by this process: a folder that the machines of a cluster do not share is noticed.
- Tables are in this machine's file system, also where Spark takes another by default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as f

from pregon.errors import BadRequest, StoreFailed
from pregon.model.pipeline_figures import (
    ARCHIVE,
    CAUSALITY,
    DELIVERIES,
    RECONCILIATION,
    SERVICE_LEVELS,
    TRAFFIC,
    CausalityFigures,
    Figures,
    ReconciliationFigures,
)
from pregon.model.pipeline_results import SOURCES_MAX, Source
from pregon.spark.archive.stream import ARCHIVIST
from pregon.spark.pipelines.alerts import AlertRules, anomalies
from pregon.spark.pipelines.causality import causality
from pregon.spark.pipelines.causality_summary import causality_summary
from pregon.spark.pipelines.deliveries import deliveries
from pregon.spark.pipelines.group_messages import group_messages
from pregon.spark.pipelines.inputs import Inputs, Place
from pregon.spark.pipelines.output_address import address_of
from pregon.spark.pipelines.reconciliation import reconciliation
from pregon.spark.pipelines.service_levels import service_levels
from pregon.spark.pipelines.summarising import (
    summarise_causality,
    summarise_deliveries,
    summarise_levels,
    summarise_reconciliation,
    summarise_traffic,
)
from pregon.spark.pipelines.traffic import traffic
from pregon.spark.schemas import GROUP_DELIVERIES, MESSAGES, SUBSCRIPTIONS, TRACES

NEEDS = {SERVICE_LEVELS: (DELIVERIES,)}
"""The steps whose tables a step is made of."""
WINDOW_S_DEFAULT = 60


@dataclass(slots=True)
class Run:
    """One run: what steps share."""

    spark: SparkSession
    place: Place
    inputs: Inputs
    window_s: int = WINDOW_S_DEFAULT
    folders: dict[str, Path] = field(default_factory=dict)
    """Where the steps that have ended have left their tables."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step found."""

    figures: Figures
    rows: Mapping[str, int]
    sources: list[Source]

    @property
    def is_right(self) -> bool:
        """Whether nothing was found that must not be."""
        if isinstance(self.figures, ReconciliationFigures):
            return not self.figures.discrepancies_count
        return not (isinstance(self.figures, CausalityFigures) and self.figures.violations_count)


def run_deliveries(run: Run, folder: Path) -> Outcome:
    """Every message for every subscription."""
    rows = write_table(deliveries(run.inputs.traces, run.inputs.subscriptions), folder / DELIVERIES)
    written = read_table(run, folder / DELIVERIES)
    return Outcome(summarise_deliveries(written), {DELIVERIES: rows}, _accounting_sources(run))


def run_service_levels(run: Run, folder: Path) -> Outcome:
    """Every hour of every subscription but the archive's own: that one takes what there is when it is run."""
    path = run.folders[DELIVERIES] / DELIVERIES
    made_of = read_table(run, path).where(f.col("subscriber") != ARCHIVIST)
    rows = write_table(service_levels(made_of), folder / "by_hour")
    by_hour = read_table(run, folder / "by_hour")
    source = Source(table=DELIVERIES, rows=count_rows(path))
    return Outcome(summarise_levels(made_of, by_hour), {"by_hour": rows}, [source])


def run_reconciliation(run: Run, folder: Path) -> Outcome:
    """Every subscription."""
    # The traces of every topic: how far they go is told by the newest of all.
    rows = write_table(reconciliation(run.inputs.all_traces, run.inputs.subscriptions), folder / "by_subscription")
    written = read_table(run, folder / "by_subscription")
    return Outcome(summarise_reconciliation(written), {"by_subscription": rows}, _accounting_sources(run))


def _accounting_sources(run: Run) -> list[Source]:
    return [
        run.inputs.source_of(TRACES, run.inputs.traces, "id"),
        Source(table=SUBSCRIPTIONS, rows=run.inputs.subscriptions.count()),
    ]


def run_causality(run: Run, folder: Path) -> Outcome:
    """Every delivery of every group."""
    said, shown = group_messages(run.inputs.group_messages), run.inputs.group_deliveries
    rows = {
        "violations": write_table(causality(said, shown), folder / "violations"),
        "groups": write_table(causality_summary(said, shown), folder / "groups"),
    }
    violations, summary = (read_table(run, folder / name) for name in rows)
    sources = [
        run.inputs.source_of(MESSAGES, run.inputs.group_messages, "seq"),
        run.inputs.source_of(GROUP_DELIVERIES, shown, "seq"),
    ]
    return Outcome(summarise_causality(violations, summary), rows, sources)


def run_traffic(run: Run, folder: Path) -> Outcome:
    """Every window of every topic, and those that are unusual."""
    rows = {"windows": write_table(traffic(run.inputs.messages, window=f"{run.window_s} seconds"), folder / "windows")}
    windows = read_table(run, folder / "windows")
    rows["anomalies"] = write_table(anomalies(windows, AlertRules()), folder / "anomalies")
    unusual = read_table(run, folder / "anomalies")
    counts = windows.groupBy("topic").agg(f.sum("messages").alias("messages")).orderBy("topic").limit(SOURCES_MAX)
    sources = run.inputs.message_sources({row["topic"]: row["messages"] for row in counts.collect()})
    return Outcome(summarise_traffic(windows, unusual, run.window_s), rows, sources)


STEP_FUNCTIONS: dict[str, Callable[[Run, Path], Outcome]] = {
    DELIVERIES: run_deliveries,
    SERVICE_LEVELS: run_service_levels,
    RECONCILIATION: run_reconciliation,
    CAUSALITY: run_causality,
    TRAFFIC: run_traffic,
}


def choose_steps(names: list[str], *, has_archive: bool) -> list[str]:
    """The steps to run, in order, with those that they need; raises BadRequest.

    Without names, all of them; the archive only where it is said where that is.
    """
    order = [ARCHIVE, *STEP_FUNCTIONS]
    for name in names:
        if name not in order:
            raise BadRequest(f"there is no step {name[:40]!r}: there are {', '.join(order)}")
    if ARCHIVE in names and not has_archive:
        raise BadRequest("say where the archive is to be: --archive DIR")
    wanted = set(names) or set(order if has_archive else STEP_FUNCTIONS)
    for name in tuple(wanted):
        wanted.update(NEEDS.get(name, ()))
    return [name for name in order if name in wanted]


def write_table(frame: DataFrame, path: Path) -> int:
    """Write a table as Parquet; how many rows it has. Raises StoreFailed if they did not arrive here."""
    counted = Observation(f"pregon {path.name}")
    frame.observe(counted, f.count(f.lit(1)).alias("rows")).write.parquet(address_of(path))
    written, arrived = int(counted.get["rows"]), count_rows(path)
    if written != arrived:
        raise StoreFailed(
            f"{written} rows were written to {path}, and {arrived} are there: --output must be a folder that all the "
            "machines of the cluster have mounted"
        )
    return arrived


def read_table(run: Run, path: Path) -> DataFrame:
    """A table that was written before."""
    return run.spark.read.parquet(address_of(path))


def count_rows(path: Path) -> int:
    """How many rows the Parquet files of a folder have, by their footers; raises StoreFailed."""
    try:
        return sum(pq.read_metadata(file).num_rows for file in path.glob("*.parquet"))
    except (OSError, pa.ArrowException) as error:
        raise StoreFailed(f"{path} cannot be read: {error}") from error
