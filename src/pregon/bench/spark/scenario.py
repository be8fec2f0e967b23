"""The scenario `spark`: one session and one hub for all of it."""

from __future__ import annotations

from pregon.bench.hub_process import HubProcess
from pregon.bench.rounds import Run
from pregon.bench.spark.beside_publishing import measure_beside_publishing
from pregon.bench.spark.growing import measure_growing
from pregon.bench.spark.reading import measure_reading
from pregon.bench.spark.stage import Stage, fill
from pregon.bench.spark.streaming import measure_streaming
from pregon.bench.spark.writing import measure_writing
from pregon.spark.session import session

_SETTINGS = {"spark.driver.memory": "4g", "spark.sql.shuffle.partitions": "2"}


def measure(run: Run) -> None:
    """All of it."""
    rows = run.plan.scaled(2_000_000)
    spark = session("pregon bench", master="local[2]", settings=_SETTINGS)
    try:
        with HubProcess(run.folder("hub")) as hub:
            fill(hub, rows)
            stage = Stage(run, hub, spark, rows, run.folder("parquet") / "rows")
            stage.read().write.parquet(str(stage.parquet))
            measure_reading(stage)
            measure_streaming(stage)
            measure_writing(stage)
            measure_beside_publishing(stage)
            measure_growing(stage)
    finally:
        spark.stop()
