"""Ask a topic questions in SQL: it comes from the hub as an Arrow stream, and DuckDB reads it as it comes.

With a hub running (`make run`), and something in the topic (`examples/batching_producer.py`):

    pip install duckdb
    .venv/bin/python examples/read_with_duckdb.py fallecidos
"""

import sys
from urllib.request import urlopen

import duckdb
import pyarrow as pa

HUB = "http://127.0.0.1:5580"
topic = sys.argv[1] if len(sys.argv) > 1 else "fallecidos"

with urlopen(f"{HUB}/v1/topics/{topic}/batches") as answer, pa.ipc.open_stream(answer) as messages:
    found = duckdb.sql(
        """
        SELECT producer, count(*) AS messages, min(seq) AS first, max(seq) AS last, max(accepted_at) AS newest
        FROM messages GROUP BY producer ORDER BY producer
        """
    )
    print(found)
