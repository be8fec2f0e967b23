"""Sales from a topic: a table that grows with it, and a topic that gets the large ones. SQL does the rest.

It expects what `examples/spark/notebook.py` writes.
"""

import os

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

HUB = os.environ.get("PREGON_HUB", "http://127.0.0.1:5580")
TOPIC = os.environ.get("TOPIC", "ventas")
SALE = "sale BIGINT, shop INT, amount INT"

dp.create_sink("large_sales", "pregon", {"hub": HUB, "topic": f"{TOPIC}.largest"})


@dp.table(comment="Every sale once, by its number in the topic.")
def sales() -> DataFrame:
    """What came since the last run, added to what was there."""
    messages = (
        SparkSession.active()
        .readStream.format("pregon")
        .option("hub", HUB)
        .option("subscribe", TOPIC)
        .option("startingOffsets", "earliest")
        .load()
    )
    sale = f.from_json(f.col("body").cast("string"), SALE).alias("sale")
    return messages.select("seq", "key", "accepted_at", sale).select("seq", "key", "accepted_at", "sale.*")


@dp.append_flow(target="large_sales")
def large() -> DataFrame:
    """Back into the hub, for whoever subscribes."""
    large = SparkSession.active().readStream.table("sales").where("amount > 95")
    return large.select("key", f.to_json(f.struct("sale", "shop", "amount")).cast("binary").alias("body"))
