"""Topics as tables: a notebook to start from, one `# %%` cell after the other, in VS Code, PyCharm or Jupyter.

With a hub running (`make run`), as a notebook or all at once:

    pip install 'pregon[spark]'
    .venv/bin/python examples/spark/notebook.py
"""

# %% A session. Without Java on the machine it runs on the one that came with `pregon[spark]`.
import os
import tempfile

from pyspark.sql import functions as f

from pregon.spark import session, system_table, table

HUB = os.environ.get("PREGON_HUB", "http://127.0.0.1:5580")
TOPIC = os.environ.get("TOPIC", "ventas")
spark = session("notebook")

# %% Write: every row is a message. A thousand sales, in four shops.
sales = spark.range(1_000).select(
    f.to_json(f.struct(f.col("id").alias("sale"), (f.col("id") % 4).alias("shop"), (f.col("id") % 97).alias("amount")))
    .cast("binary")
    .alias("body"),
    f.concat(f.lit("shop-"), f.col("id") % 4).alias("key"),
    f.lit("application/json").alias("content_type"),
)
sales.write.format("pregon").option("hub", HUB).option("topic", TOPIC).mode("append").save()

# %% Read: everything the topic has now. Bodies are bytes; here they are JSON.
messages = spark.read.format("pregon").option("hub", HUB).option("subscribe", TOPIC).load()
messages.printSchema()
fields = f.from_json(f.col("body").cast("string"), "sale BIGINT, shop INT, amount INT")
parsed = messages.select("seq", "key", "accepted_at", fields.alias("sale")).select(
    "seq", "key", "accepted_at", "sale.*"
)
parsed.groupBy("key").agg(f.count("*").alias("sales"), f.sum("amount").alias("amount")).orderBy("key").show()

# %% The same in SQL. A view over the hub stays as it was when it was first asked: make it anew to see what is new.
spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW messages USING pregon OPTIONS (hub '{HUB}', subscribe '{TOPIC}')")
spark.sql("SELECT count(*) AS messages, min(seq) AS first, max(seq) AS last FROM messages").show()

# %% Stream: what is there and then what comes, in order, once each. `availableNow` reads what there is and stops; with
# `processingTime="1 second"` instead it goes on until query.stop(). The checkpoint is where it is in the topic.
folder = tempfile.mkdtemp(prefix="notebook-")
stream = (
    spark.readStream.format("pregon")
    .option("hub", HUB)
    .option("subscribe", TOPIC)
    .option("startingOffsets", "earliest")
    .option("maxOffsetsPerTrigger", 500)
    .load()
)
large = stream.where(f.get_json_object(f.col("body").cast("string"), "$.amount").cast("int") > 90)

# %% … and back into the hub: subscribers of the second topic get the large sales, each once even if this is killed and
# started again.
query = (
    large.select("key", "body")
    .writeStream.format("pregon")
    .option("hub", HUB)
    .option("topic", f"{TOPIC}.large")
    .option("checkpointLocation", f"{folder}/large")
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
found = spark.read.format("pregon").option("hub", HUB).option("subscribe", f"{TOPIC}.large").load()
print("large sales:", found.count())

# %% History and the present in one table: what `pregon pipeline run` has archived as Parquet, and the hub's own tail.
everything = table(spark, TOPIC, hub=HUB, archive=os.environ.get("PREGON_ARCHIVE", f"{folder}/archive"))
everything.groupBy(f.to_date("accepted_at").alias("day")).count().orderBy("day").show()

# %% What the hub did with the messages is a table too: traces, subscriptions, requests, group_deliveries.
system_table(spark, "traces", hub=HUB, archive=f"{folder}/archive").groupBy("kind").count().orderBy("kind").show()

# %% The end.
spark.stop()
