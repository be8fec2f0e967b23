"""Running the steps, one after the other, and leaving what each found where `results` keeps it.

    run_steps(spark, Place(source={"hub": "http://127.0.0.1:5580"}), Results(Path("pregon-pipelines")), [])

Promises:
- A step's result is there whole or not at all; what earlier steps of the same run left stays if a later one fails.
- What Spark says of a failure is raised as an error of ours.
- The session is left as it was: settings of ours are in one of our own, and what Spark kept is given back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pyspark.sql import SparkSession

from pregon.clock import format_us, monotonic_ms, wall_us
from pregon.errors import PregonError
from pregon.model.pipeline_figures import ARCHIVE
from pregon.model.pipeline_results import Made
from pregon.spark.archive.files import files_of
from pregon.spark.pipelines.archiving import run_archive
from pregon.spark.pipelines.failing import spark_errors_as_ours
from pregon.spark.pipelines.inputs import Inputs, Place
from pregon.spark.pipelines.results import Results
from pregon.spark.pipelines.steps import STEP_FUNCTIONS, WINDOW_S_DEFAULT, Outcome, Run, choose_steps
from pregon.version import __version__

_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    # Instants that other readers of Parquet understand too.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}


@dataclass(frozen=True, slots=True)
class Ended:
    """A step that has run."""

    made: Made
    outcome: Outcome


class Watch(Protocol):
    """Who is told how it goes."""

    def begins(self, step: str) -> None:
        """A step begins."""

    def ended(self, ended: Ended) -> None:
        """A step has ended well."""


def run_steps(
    spark: SparkSession,
    place: Place,
    results: Results,
    names: Sequence[str],
    *,
    window_s: int = WINDOW_S_DEFAULT,
    watch: Watch | None = None,
) -> list[Ended]:
    """Run steps, with those that they need; all of them without names. Raises what the first that fails raises."""
    steps = choose_steps(list(names), has_archive=bool(place.archive))
    ours = spark.newSession()
    for name, value in _SETTINGS.items():
        ours.conf.set(name, value)
    ended = []
    with spark_errors_as_ours():
        inputs = Inputs(ours, place)
        run = Run(ours, place, inputs, window_s)
        try:
            for step in steps:
                if watch is not None:
                    watch.begins(step)
                ended.append(_run_step(run, step, results))
                if watch is not None:
                    watch.ended(ended[-1])
        finally:
            inputs.close()
    return ended


def _run_step(run: Run, step: str, results: Results) -> Ended:
    """One step: its tables, its figures, and then the pointer to them."""
    began_ms = monotonic_ms()
    folder = results.begin(step)
    try:
        with spark_errors_as_ours():
            outcome = _outcome(run, step, folder)
        made = Made(
            step=step,
            folder=folder.name,
            made_at=format_us(wall_us()),
            took_ms=round(monotonic_ms() - began_ms),
            rows=dict(outcome.rows),
            hub=run.place.hub,
            archive=run.place.archive,
            sources=outcome.sources,
            version=__version__,
        )
        results.publish(folder, made, outcome.figures)
    except PregonError as error:
        results.abandon(folder)
        raise type(error)(f"{step}: {error}") from error
    # Whatever ended it, an interruption too: what is half written must not be taken for a result.
    except BaseException:
        results.abandon(folder)
        raise
    run.folders[step] = folder
    return Ended(made, outcome)


def _outcome(run: Run, step: str, folder: Path) -> Outcome:
    if step == ARCHIVE:
        return run_archive(run, files_of(run.spark, run.place.archive), folder)
    return STEP_FUNCTIONS[step](run, folder)
