"""The pipeline over a real hub: what the steps leave, what they find, and what happens when they cannot."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from scenario.hub_process import HubProcess, find_port
from typer.testing import CliRunner

from pregon.cli.pipeline import app
from pregon.errors import HubUnreachable
from pregon.model import pipeline_figures as f
from pregon.spark.pipelines.alerting import Alerting, Baselines
from pregon.spark.pipelines.alerts import AlertRules
from pregon.spark.pipelines.inputs import Place
from pregon.spark.pipelines.results import Results
from pregon.spark.pipelines.running import Ended
from pregon.spark.pipelines.status import find_status

from .pipeline_stage import ACKNOWLEDGED, BIRTHS, DEATHS, PARKED, SAID, place_of, run, seed
from .tables import address


class Ran(NamedTuple):
    """A run over a hub, and where its results are."""

    hub: HubProcess
    output: Path
    ended: dict[str, Ended]


@contextmanager
def with_another_default(spark: SparkSession) -> Iterator[None]:
    """A path without a scheme is of a file system that is not there, as it is of HDFS on many clusters."""
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    before = configuration.get("fs.defaultFS")
    configuration.set("fs.defaultFS", "nowhere://cluster")
    try:
        yield
    finally:
        configuration.set("fs.defaultFS", before)


@pytest.fixture(scope="module")
def ran(module_hub: HubProcess, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    """Every step but the archive, into a folder whose name an address would have to quote."""
    with module_hub.client() as client:
        seed(client)
    output = tmp_path_factory.mktemp("pipelines") / "año 1%20#2"
    with with_another_default(spark):
        ended = run(spark, place_of(module_hub), output)
    yield Ran(module_hub, output, ended)


def test_every_step_leaves_its_tables_its_figures_and_of_what_they_were_made(ran: Ran) -> None:
    results = Results(ran.output)

    assert list(ran.ended) == [step for step in f.STEPS if step != f.ARCHIVE]
    for step, ended in ran.ended.items():
        made, figures = results.find_figures(step) or pytest.fail(f"{step} left nothing")
        assert (made, figures) == (ended.made, ended.outcome.figures)
        tables = {name: pq.read_table(results.folder_of(made) / name).num_rows for name in made.rows}
        assert tables == made.rows
    traces, subscriptions = ran.ended[f.RECONCILIATION].made.sources
    assert (traces.table, traces.first, traces.rows) == ("traces", 1, traces.last)
    assert subscriptions.rows == 2


def test_deliveries_are_what_was_done_with_each_message(ran: Ran) -> None:
    figures = ran.ended[f.DELIVERIES].outcome.figures

    assert isinstance(figures, f.DeliveriesFigures)
    assert {one.result: one.count for one in figures.outcomes} == {
        "acknowledged": ACKNOWLEDGED + BIRTHS,
        "parked": PARKED,
        "pending": DEATHS - ACKNOWLEDGED - PARKED,
    }


def test_service_levels_tell_of_each_subscription_all_hours_together(ran: Ran) -> None:
    figures = ran.ended[f.SERVICE_LEVELS].outcome.figures

    assert isinstance(figures, f.ServiceLevelsFigures)
    levels = {(one.topic, one.subscriber): one for one in figures.subscriptions}
    bps, imm = levels["fallecidos", "BPS"], levels["nacidos", "IMM"]
    assert (bps.accepted, bps.settled, bps.backlog) == (
        DEATHS,
        ACKNOWLEDGED + PARKED,
        DEATHS - ACKNOWLEDGED - PARKED,
    )
    assert (imm.accepted, imm.backlog) == (BIRTHS, 0)
    assert sum(hour.accepted for hour in figures.hours) == DEATHS + BIRTHS
    assert all(one.p50_ms and one.max_ms and one.p50_ms <= one.max_ms for one in (bps, imm))


def test_everything_adds_up_and_came_in_causal_order(ran: Ran) -> None:
    reconciled, ordered = (ran.ended[step].outcome.figures for step in (f.RECONCILIATION, f.CAUSALITY))

    assert isinstance(reconciled, f.ReconciliationFigures)
    assert isinstance(ordered, f.CausalityFigures)
    assert (reconciled.subscriptions, reconciled.verified, reconciled.discrepancies) == (2, 2, [])
    assert reconciled.totals["accepted"] == (DEATHS + BIRTHS, DEATHS + BIRTHS)
    assert ordered.violations == []
    assert [group.group for group in ordered.groups] == ["barrio"]
    assert ordered.deliveries >= SAID


def test_traffic_counts_every_message_of_every_topic_but_the_hubs_own(ran: Ran) -> None:
    ended = ran.ended[f.TRAFFIC]

    figures = ended.outcome.figures
    assert isinstance(figures, f.TrafficFigures)
    counts = {topic.topic: topic.messages for topic in figures.topics}
    assert (counts["fallecidos"], counts["nacidos"]) == (DEATHS, BIRTHS)
    assert not any(topic.startswith("pregon.") for topic in counts)
    sources = {source.topic: (source.first, source.last) for source in ended.made.sources}
    assert sources["fallecidos"] == (1, DEATHS)


def test_what_is_archived_is_what_the_next_steps_are_made_of(ran: Ran, spark: SparkSession, tmp_path: Path) -> None:
    archive, place = tmp_path / "archive", place_of(ran.hub, tmp_path / "archive")

    ended = run(spark, place, tmp_path / "output", f.ARCHIVE, f.RECONCILIATION)

    archived = {(one.table, one.topic): one for one in _archive(ended[f.ARCHIVE].outcome.figures).archived}
    deaths = archived["messages", "fallecidos"]
    assert (deaths.through, deaths.head, deaths.rows) == (DEATHS, DEATHS, DEATHS)
    assert archived["traces", ""].through > 0
    assert ended[f.RECONCILIATION].outcome.is_right
    status = find_status(Results(tmp_path / "output"), place)
    assert {row["step"] for row in status.steps if row["made_at"]} == {f.ARCHIVE, f.RECONCILIATION}
    assert status.archive is not None
    assert status.archive.archive == str(archive)
    assert status.archive.files == _archive(ended[f.ARCHIVE].outcome.figures).files


def _archive(figures: f.Figures) -> f.ArchiveFigures:
    assert isinstance(figures, f.ArchiveFigures)
    return figures


def test_a_hub_that_does_not_answer_is_said_in_a_line_and_the_old_result_stays(ran: Ran, spark: SparkSession) -> None:
    before = Results(ran.output).find_latest(f.DELIVERIES)
    nobody = Place(source={"hub": f"http://127.0.0.1:{find_port()}", "timeoutMs": "100"})

    with pytest.raises(HubUnreachable) as caught:
        run(spark, nobody, ran.output, f.DELIVERIES)

    assert str(caught.value).startswith("deliveries: ")
    assert "\n" not in str(caught.value)
    assert Results(ran.output).find_latest(f.DELIVERIES) == before
    folders = [one.name for one in (ran.output / f.DELIVERIES).iterdir() if one.is_dir()]
    assert before is not None
    assert folders == [before.folder]


def test_the_command_tells_a_step_as_json_and_writes_where_it_is_told(
    ran: Ran, spark: SparkSession, tmp_path: Path
) -> None:
    options = ["--hub", address(ran.hub), "--output", str(tmp_path), "--topics", "nacidos", "--json"]
    with ran.hub.client() as client:
        # Who archives is a subscriber too, and its accounting has to add up like that of any other.
        subscribers = [one["subscriber"] for one in client.list("subscription", names=["nacidos"])]

    said = CliRunner().invoke(app, ["run", "reconciliation", *options])

    assert said.exit_code == 0, said.output
    (row,) = map(json.loads, said.stdout.splitlines())
    figures = row["figures"]
    assert (row["step"], row["is_right"]) == ("reconciliation", True)
    assert "IMM" in subscribers and figures["subscriptions"] == figures["verified"] == len(subscribers)
    assert figures["totals"]["accepted"] == [BIRTHS * len(subscribers)] * 2
    assert Results(tmp_path).find_latest(f.RECONCILIATION) is not None
    assert spark.range(3).count() == 3, "the session that ran already goes on"


def test_an_alert_is_stored_once_although_its_batch_is_run_again(ran: Ran, spark: SparkSession, tmp_path: Path) -> None:
    alerting = Alerting({"hub": address(ran.hub)}, Baselines(tmp_path / "baseline"), AlertRules())
    began = datetime(2026, 11, 16, 10, tzinfo=UTC)

    def windows(*counts: int, first: int) -> list[tuple[object, ...]]:
        starts = [began + timedelta(minutes=first + number) for number in range(len(counts))]
        return [
            ("fallecidos", start, start + timedelta(minutes=1), count, count * 100, 1, start)
            for start, count in zip(starts, counts, strict=True)
        ]

    columns = (
        "topic STRING, window_start TIMESTAMP, window_end TIMESTAMP, messages BIGINT, bytes BIGINT, "
        "producers BIGINT, last_at TIMESTAMP"
    )
    usual = spark.createDataFrame(windows(*[20] * 12, first=0), columns)
    surge = spark.createDataFrame(windows(20, 500, first=12), columns)

    with with_another_default(spark):
        alerting.tell(usual, 0)
        alerting.tell(surge, 1)
        alerting.tell(surge, 1)

    with ran.hub.client() as client:
        told = [json.loads(message.body) for message in client.read("pregon.alerts", 1).messages]
    assert [(one["topic"], one["kind"], one["count"]) for one in told] == [("fallecidos", "surge", 500)]
