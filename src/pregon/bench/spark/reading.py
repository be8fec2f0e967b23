"""Reading two million messages with an aggregation that touches the bodies: ours, native Parquet, a source of rows, and
the table of archive and hub.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from pregon.bench.rounds import ROUNDS, in_turns
from pregon.bench.spark.row_source import RowSource
from pregon.bench.spark.stage import TOPIC, Stage, seconds, touch_bodies
from pregon.spark.archive import archive_stream, compact, table

NATIVE, OURS, ROWS, ARCHIVED = "native Parquet", 'format("pregon")', "a source that yields rows", "the archived table"
OURS_TWO = 'format("pregon"), columns topic,body'


def measure_reading(stage: Stage) -> None:
    """Rows a second of each, in turns; the first round, in which everything is started, does not count."""
    spark, rows = stage.spark, stage.rows
    spark.dataSource.register(RowSource)
    archive = str(stage.run.folder("archive"))
    archive_stream(spark, archive, stage.options(subscribe=TOPIC)).awaitTermination()
    compact(spark, archive, "messages")
    hub = f"http://{stage.hub.http}"

    ways: dict[str, Callable[[], None]] = {
        NATIVE: lambda: touch_bodies(spark.read.parquet(str(stage.parquet))),
        OURS: lambda: touch_bodies(stage.read()),
        OURS_TWO: lambda: touch_bodies(stage.read(columns="topic,body")),
        ARCHIVED: lambda: touch_bodies(table(spark, TOPIC, hub=hub, archive=archive)),
    }
    for work in ways.values():
        work()
    rates = in_turns(ROUNDS, {name: lambda _, work=work: rows / seconds(work) for name, work in ways.items()})  # type: ignore[misc]
    # It is slow: a fifth of the rounds tells enough.
    rates[ROWS] = [rows / seconds(lambda: touch_bodies(stage.read("pregon_rows")))]
    native = median(rates[NATIVE])
    stage.run.results["spark_reading"] = rates
    stage.run.show(
        f"Spark reads {rows:,} messages of 200 bytes, rows a second",
        ("", "median", "range", "of native"),
        [
            (name, f"{median(one):,.0f}", f"{min(one):,.0f} – {max(one):,.0f}", f"{median(one) / native:.0%}")
            for name, one in rates.items()
        ],
    )
    stage.run.out.print(f"beside the source that yields rows: {median(rates[OURS]) / median(rates[ROWS]):.1f} times\n")
