"""From tables to the report: figures of rows that Spark has, also of those that are wrong."""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import SparkSession
from typer.testing import CliRunner

from pregon.cli.pipeline import app
from pregon.model.pipeline_figures import RECONCILIATION
from pregon.model.pipeline_results import Made
from pregon.spark.pipelines.results import Results
from pregon.spark.pipelines.summarising import summarise_causality, summarise_reconciliation

_PARTS = ("accepted", "acknowledged", "pending", "parked", "filtered", "expired")
_COLUMNS = ", ".join(
    ["topic STRING", "subscriber STRING"]
    + [f"{part} BIGINT" for part in _PARTS]
    + [f"events_{part} BIGINT" for part in (*_PARTS, "cancelled")]
    + ["discrepancy STRING", "is_verifiable BOOLEAN", "reason STRING"]
)
HOSTILE = "<img src=x onerror=alert(1)>"


def test_a_discrepancy_is_on_the_page_with_both_figures_and_beside_it_for_programs(
    spark: SparkSession, tmp_path: Path
) -> None:
    right = ("a", "BPS", 10, 8, 1, 0, 0, 1, 10, 8, 1, 0, 0, 0, 1, "", True, "")
    wrong = (HOSTILE, "IMM", 10, 7, 1, 0, 0, 1, 10, 8, 1, 0, 0, 0, 1, "acknowledged: …", True, "")
    unsure = ("c", "CGN", 10, 7, 3, 0, 0, 0, 4, 1, 3, 0, 0, 0, 0, "", False, "the traces begin later")
    rows = spark.createDataFrame([right, wrong, unsure], _COLUMNS)
    results = Results(tmp_path)

    folder = results.begin(RECONCILIATION)
    made = Made(
        step=RECONCILIATION, folder=folder.name, made_at="2026-11-16T20:00:00Z", took_ms=1, rows={}, hub="http://hub"
    )
    results.publish(folder, made, summarise_reconciliation(rows))
    page = tmp_path / "page.html"
    said = CliRunner().invoke(app, ["report", "--results", str(tmp_path), "--output", str(page), "--lang", "es"])

    assert said.exit_code == 0, said.output
    text = page.read_text()
    assert "acknowledged: the events say 8, the hub 7; the hub&#x27;s parts add up to 9, not to the 10" in text
    assert HOSTILE not in text
    figures = json.loads((tmp_path / "page.json").read_text())["steps"][RECONCILIATION]["figures"]
    assert (figures["subscriptions"], figures["verified"]) == (3, 1)
    assert figures["discrepancies"][0]["parts"] == {"acknowledged": [8, 7], "parts_sum": [9, 10]}
    assert [one["reason"] for one in figures["unverifiable"]] == ["the traces begin later"]
    assert figures["totals"]["acknowledged"] == [16, 15]
    assert figures["totals"]["expired_or_cancelled"] == [2, 2]


def test_groups_with_violations_come_first_and_what_was_shown_twice_is_none(spark: SparkSession) -> None:
    summary = spark.createDataFrame(
        [
            ("calm", 9, 90, 10, 0, 0, 0, 3, 0.03, 1.5, 4, 11.0, 40.0),
            ("wild", 2, 4, 2, 1, 1, 0, 0, 0.0, 1.0, 1, 9.0, 8.0),
        ],
        "group STRING, messages BIGINT, deliveries BIGINT, members BIGINT, violations BIGINT, duplicates BIGINT, "
        "unreported BIGINT, held_back BIGINT, held_back_share DOUBLE, after_mean DOUBLE, after_max INT, "
        "control_bytes DOUBLE, vector_bytes DOUBLE",
    )
    violations = spark.createDataFrame(
        [("wild", 2, "beto", "1:2", "1:1", "fifo", None), ("wild", 2, "beto", "1:1", "", "duplicate", None)],
        "group STRING, member BIGINT, name STRING, message STRING, missing STRING, kind STRING, delivered_at TIMESTAMP",
    )

    figures = summarise_causality(violations, summary)

    assert [(group.group, group.violations) for group in figures.groups] == [("wild", 1), ("calm", 0)]
    assert (figures.deliveries, figures.violations_count) == (94, 1)
    assert [(one.message, one.missing, one.kind) for one in figures.violations] == [("1:2", "1:1", "fifo")]
