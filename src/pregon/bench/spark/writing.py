"""Writing a DataFrame to a topic, durably, beside computing the same rows and keeping nothing."""

from __future__ import annotations

from statistics import median

from pyspark.sql import DataFrame

from pregon.bench.rounds import in_turns
from pregon.bench.spark.stage import Stage, consume, seconds

_ROUNDS = 3


def measure_writing(stage: Stage) -> None:
    """Messages a second."""
    count = stage.run.plan.scaled(1_000_000)

    def rows() -> DataFrame:
        return stage.spark.read.parquet(str(stage.parquet)).select("body").limit(count).repartition(4)

    def write(number: int) -> float:
        to = stage.options(topic=f"written-{number}")
        return count / seconds(lambda: rows().write.format("pregon").mode("append").options(**to).save())

    write(99)
    rates = in_turns(
        _ROUNDS, {'format("pregon"), durable': write, "noop": lambda _: count / seconds(lambda: consume(rows()))}
    )
    with stage.hub.client() as client:
        stored = client.show("topic", "written-0")["head_seq"]
    assert stored == count, f"{stored} of {count} were stored"
    stage.run.results["spark_writing"] = rates
    stage.run.show(
        f"Spark writes {count:,} messages of 200 bytes, rows a second",
        ("", "median", "range"),
        [(name, f"{median(one):,.0f}", f"{min(one):,.0f} – {max(one):,.0f}") for name, one in rates.items()],
    )
