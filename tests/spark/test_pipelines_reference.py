"""The reference of the pipelines has the columns of every step, with their types and in their order, as Spark says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from house.step_tables import columns_of
from pyspark.sql import DataFrame, SparkSession

from pregon.spark.pipelines.alerts import alerts, anomalies
from pregon.spark.pipelines.causality import causality, unreported
from pregon.spark.pipelines.causality_summary import causality_summary
from pregon.spark.pipelines.deliveries import deliveries
from pregon.spark.pipelines.group_messages import group_messages
from pregon.spark.pipelines.reconciliation import reconciliation
from pregon.spark.pipelines.service_levels import service_levels
from pregon.spark.pipelines.traffic import traffic
from pregon.spark.schemas import GROUP_DELIVERIES, MESSAGES, SUBSCRIPTIONS, TABLES, TRACES, schema_of

REFERENCE = Path(__file__).parents[2] / "docs/reference/pipelines.md"
Tables = dict[str, DataFrame]

STEPS: dict[str, Callable[[Tables], DataFrame]] = {
    "deliveries": lambda t: deliveries(t[TRACES], t[SUBSCRIPTIONS]),
    "service_levels": lambda t: service_levels(deliveries(t[TRACES])),
    "reconciliation": lambda t: reconciliation(t[TRACES], t[SUBSCRIPTIONS]),
    "group_messages": lambda t: group_messages(t[MESSAGES]),
    "causality": lambda t: causality(group_messages(t[MESSAGES]), t[GROUP_DELIVERIES]),
    "unreported": lambda t: unreported(group_messages(t[MESSAGES]), t[GROUP_DELIVERIES]),
    "causality_summary": lambda t: causality_summary(group_messages(t[MESSAGES]), t[GROUP_DELIVERIES]),
    "traffic": lambda t: traffic(t[MESSAGES]),
    "anomalies": lambda t: anomalies(traffic(t[MESSAGES])),
    "alerts": lambda t: alerts(traffic(t[MESSAGES])),
}
AS_ANOTHER = {"unreported": "causality"}
"""Steps of which the reference says that they have the columns of another one."""


@pytest.fixture
def tables(spark: SparkSession) -> Tables:
    """Every table of the hub, without rows."""
    return {name: spark.createDataFrame([], schema_of(name)) for name in TABLES}


@pytest.mark.parametrize("step", STEPS)
def test_the_columns_of_a_step_are_documented_exactly(tables: Tables, step: str) -> None:
    told = columns_of(REFERENCE.read_text(encoding="utf-8"), AS_ANOTHER.get(step, step))

    made = STEPS[step](tables).schema

    assert [(field.name, field.dataType.simpleString().upper()) for field in made.fields] == told
