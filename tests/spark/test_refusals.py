"""What a user reads when something is refused: a sentence that says what to do, at once, and no page of Java."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from scenario.conftest import MakeHub
from scenario.hub_process import HubProcess

from pregon import Client

from .tables import Reading, address, checkpoint_at, place_in, publish, read

LINES_MAX = 60
"""Spark adds the lines of Python that led there, and for a stream its plan."""


def sentence(caught: pytest.ExceptionInfo[PySparkException]) -> str:
    """What of an error of Spark's is ours."""
    lines = str(caught.value).splitlines()
    assert len(lines) <= LINES_MAX and not any(line.lstrip().startswith("at ") for line in lines), lines
    return [line for line in lines if line.startswith("pregon.errors.")][-1].partition(": ")[2]


class Door:
    """Something that answers like a hub, always with the same problem, and counts what it is asked."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        self.asked: list[str] = []
        body = json.dumps({"status": status, "code": code, "detail": detail}).encode()
        door = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                door.asked.append(self.path)
                self.send_response(status)
                self.send_header("Content-Type", "application/problem+json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Nothing is to be said in the terminal."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, name="door")
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def door(request: pytest.FixtureRequest) -> Iterator[Door]:
    """A door that refuses."""
    opened = Door(*request.param)
    yield opened
    opened.close()


def start_stream(spark: SparkSession, checkpoint: Path, **options: str) -> None:
    """Read all there is, and throw it away."""
    rows = spark.readStream.format("pregon").options(**options).load()
    query = rows.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    query.start().awaitTermination()


@pytest.mark.parametrize("door", [(401, "unauthorized", "the key is unknown: ask for another")], indirect=True)
def test_a_wrong_key_is_said_after_one_question(spark: SparkSession, door: Door, tmp_path: Path) -> None:
    with pytest.raises(PySparkException) as of_batch:
        spark.read.format("pregon").options(hub=door.url, subscribe="a", key="wrong").load().collect()
    asked = len(door.asked)
    with pytest.raises(PySparkException) as of_stream:
        start_stream(spark, tmp_path, hub=door.url, subscribe="a", key="wrong")

    assert sentence(of_batch) == sentence(of_stream) == "the key is unknown: ask for another"
    assert (asked, len(door.asked)) == (1, 2)


@pytest.mark.parametrize("door", [(404, "not_found", "there is nothing at this address")], indirect=True)
@pytest.mark.parametrize("table", ["traces", "subscriptions"])
def test_a_hub_that_is_older_is_to_be_upgraded(spark: SparkSession, door: Door, table: str) -> None:
    with pytest.raises(PySparkException) as caught:
        spark.read.format("pregon").options(hub=door.url, table=table).load().collect()

    assert "upgrade the hub" in sentence(caught)


DRIFT = {
    "seq BIGINT, cuerpo STRING": "messages has no column cuerpo: it has topic, seq,",
    "seq INT": "column seq of messages is BIGINT: ask for it as that, and cast it in the query",
}


@pytest.mark.parametrize("columns", DRIFT)
def test_columns_that_a_table_does_not_have_are_refused_before_anything_is_read(
    spark: SparkSession, columns: str, tmp_path: Path
) -> None:
    nobody = {"hub": "http://127.0.0.1:1", "subscribe": "a"}

    with pytest.raises(PySparkException) as of_batch:
        spark.read.schema(columns).format("pregon").options(**nobody).load().collect()
    with pytest.raises(PySparkException) as of_stream:
        rows = spark.readStream.schema(columns).format("pregon").options(**nobody).load()
        rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start().awaitTermination()

    assert DRIFT[columns] in sentence(of_batch)
    assert DRIFT[columns] in sentence(of_stream)


CHECKPOINTS: dict[str, tuple[Any, str]] = {
    "of another table": ({"traces": {"next": 5, "since": 0}}, "is of a query that read traces, which this one does"),
    "of another source": (7, "is not one of this source, or is damaged: begin with another location"),
    "of another version": ({"a": 18}, "is not one of this source, or is damaged: begin with another location"),
}


@pytest.mark.parametrize("case", CHECKPOINTS)
def test_a_checkpoint_of_something_else_is_refused(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path, case: str
) -> None:
    offset, wanted = CHECKPOINTS[case]
    publish(client, topic, 3)
    checkpoint = checkpoint_at(tmp_path / "checkpoint", offset)

    with pytest.raises(PySparkException) as caught:
        start_stream(spark, checkpoint, hub=address(hub), subscribe=topic, failOnDataLoss="false")

    assert wanted in sentence(caught)
    assert "checkpointLocation" in sentence(caught)


def test_a_query_that_asks_for_fewer_topics_than_before_goes_on_with_those(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 9)
    place = place_in(client, topic, 4)
    checkpoint_at(tmp_path / "checkpoint", {f"{topic}.other": place, topic: place})

    rows = Reading(spark, hub, tmp_path, subscribe=topic).run()

    assert sorted(row.seq for row in rows) == list(range(4, 10))


def test_bodies_that_are_no_reports_are_left_out_of_their_tables(spark: SparkSession, make_hub: MakeHub) -> None:
    hub = make_hub().start()
    request = {"ended_at": "2026-11-16T10:00:00Z", "service": "squares", "attempts": 1, "outcome": "answered"}
    shown = ["1:1", 1_794_000_000_000_000, 1_794_000_000_000_001]
    report = {"group": "g", "member": 1, "name": "ana", "rows": [shown]}
    poison = [b"\xff\xfe", b"poison", b"{}", b"[]", b"7", b'{"ended_at": 7, "rows": 7}']
    requests = [*poison, as_bytes(request, attempts=10**11), as_bytes(request, ended_at="soon"), as_bytes(request)]
    reports = [*poison, as_bytes(report, member=10**20), as_bytes(report, rows=[shown, [1]]), as_bytes(report)]
    with hub.client() as client:
        for topic, bodies in (("pregon.requests", requests), ("pregon.deliveries", reports)):
            for body in bodies:
                client.publish(topic, body)

    ended = read(spark, hub, table="requests", timeoutMs="1000").collect()
    seen = read(spark, hub, table="group_deliveries", timeoutMs="1000").collect()
    whole = read(spark, hub, subscribe="pregon.requests").collect()

    assert [(row.seq, row.service, row.attempts) for row in ended] == [(len(requests), "squares", 1)]
    assert [(row.seq, row.row, row.name, row.stamp) for row in seen] == [(len(reports), 0, "ana", "1:1")]
    assert [bytes(row.body) for row in sorted(whole, key=lambda row: row.seq)] == requests


def as_bytes(body: dict[str, Any], **changed: Any) -> bytes:
    """A body, with something in it changed."""
    return json.dumps({**body, **changed}).encode()
