"""The hub itself as tables over REST: traces, accounting, the number of a time. Sessions: `test_rest_sessions`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import httpx
import pyarrow as pa
import pytest

from pregon.hub import tables
from pregon.hub.access import NewKey
from pregon.hub.hub import Hub
from pregon.model.batch import END_OF_STREAM, pack
from pregon.model.catalog import Producer
from pregon.model.message import Outgoing
from pregon.model.trace import Trace
from pregon.store import trace_table
from pregon.store.ticket import Ticket
from pregon.store.traces import write_traces
from pregon.store.transaction import Transaction
from pregon.testing import RunningHub

from .rest import ARROW, publish, require_problem, rest_hub

UTC_US = pa.timestamp("us", tz="UTC")
MANY, DETAIL = 20_000, "x" * 1_000
"""Traces that no buffer on the way holds."""


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[RunningHub, httpx.Client]]:
    with rest_hub() as both:
        yield both


@pytest.fixture
def http(running: tuple[RunningHub, httpx.Client]) -> httpx.Client:
    return running[1]


@pytest.fixture
def hub(running: tuple[RunningHub, httpx.Client]) -> Hub:
    return running[0].server.hub


def table_of(answer: httpx.Response) -> pa.Table:
    """The table of an answer."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == ARROW
    table = pa.ipc.open_stream(answer.content).read_all()
    table.validate(full=True)
    return table


def send(hub: Hub, topic: str, session: str, number: int, *bodies: str, producer: str = "dgrec") -> None:
    """A batch of a session."""
    batch = pack([Outgoing(body.encode(), f"{number}-{row}") for row, body in enumerate(bodies)], [1] * len(bodies))
    hub.publish_batch(topic, producer, batch, session, number).result()


class ManyTraces:
    """Writes traces that nothing stands behind."""

    size_bytes = 100
    is_durable = False

    def __init__(self) -> None:
        self.ticket: Ticket[None] = Ticket()

    def apply(self, transaction: Transaction) -> None:
        write_traces(
            transaction.connection,
            [
                Trace(at_us=transaction.now_us, kind="pulled", topic="t", first_seq=n, last_seq=n, detail=DETAIL)
                for n in range(1, MANY + 1)
            ],
        )
        transaction.results.append((self.ticket, None))


# Traces.


def test_traces_are_a_table_with_these_columns(http: httpx.Client, topic: str) -> None:
    publish(http, topic, Pregon_Producer="dgrec")

    table = table_of(http.get("/v1/traces/batches"))

    types = {field.name: field.type for field in table.schema}
    text, number = pa.string(), pa.int64()
    assert types == {
        "id": number, "at": UTC_US, "kind": text, "topic": text, "producer": text, "subscriber": text,
        "first_seq": number, "last_seq": number, "attempt": pa.int32(), "latency_ms": pa.int32(), "detail": text,
    }  # fmt: skip
    assert not any(field.nullable for field in table.schema)
    row = table.filter(pa.compute.field("topic") == topic).to_pylist()[0]
    assert (row["kind"], row["producer"], row["first_seq"], row["last_seq"]) == ("accepted", "dgrec", 1, 1)


def test_traces_of_many_parts_are_one_table_in_order(
    http: httpx.Client, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_table, "TRACE_ROWS_MAX", 7)
    for _ in range(30):
        publish(http, topic)

    answer = http.get("/v1/traces/batches")

    ids = table_of(answer)["id"].to_pylist()
    assert ids == list(range(int(answer.headers["pregon-tail-id"]), int(answer.headers["pregon-head-id"]) + 1))
    assert len(ids) >= 30
    assert len(list(pa.ipc.open_stream(answer.content))) > 4


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("from={first}&to={last}", 5),
        ("from={last}", 1),
        ("from={last}&to=9223372036854775807", 1),
        ("from={last}&to={first}", 0),
        ("from=9223372036854775807", 0),
    ],
)
def test_a_range_of_traces_has_its_first_and_its_last(
    http: httpx.Client, topic: str, query: str, expected: int
) -> None:
    for _ in range(5):
        publish(http, topic)
    head = int(http.head("/v1/traces/batches").headers["pregon-head-id"])

    answer = http.get("/v1/traces/batches?" + query.format(first=head - 4, last=head))

    ids = table_of(answer)["id"].to_pylist()
    assert ids == list(range(head - 4, head + 1))[5 - expected :]
    assert answer.headers["pregon-head-id"] == str(head)


def test_a_hub_where_nothing_happened_has_empty_tables() -> None:
    with rest_hub() as (_, http):
        traces, subscriptions = http.get("/v1/traces/batches"), http.get("/v1/subscriptions/batches")

    assert table_of(traces).num_rows == table_of(subscriptions).num_rows == 0
    assert (traces.headers["pregon-tail-id"], traces.headers["pregon-head-id"]) == ("0", "0")


def test_the_head_alone_says_which_traces_there_are(http: httpx.Client, topic: str) -> None:
    publish(http, topic)

    head, whole = http.head("/v1/traces/batches"), http.get("/v1/traces/batches")

    assert head.content == b""
    assert {name: head.headers[name] for name in ("pregon-tail-id", "pregon-head-id")} == {
        "pregon-tail-id": whole.headers["pregon-tail-id"],
        "pregon-head-id": str(table_of(whole)["id"][-1].as_py()),
    }


# Subscriptions.


def test_subscriptions_are_a_table_with_these_columns(http: httpx.Client, topic: str) -> None:
    for _ in range(5):
        publish(http, topic)
    http.post(f"/v1/topics/{topic}/subscriptions", json={"subscriber": "bps"})
    http.post(f"/v1/topics/{topic}/subscriptions/bps/ack", json={"seq": 2})
    http.post(f"/v1/topics/{topic}/subscriptions/bps/park", json={"seqs": [4]})

    table = table_of(http.get("/v1/subscriptions/batches"))

    places = ("first_seq", "acked_seq", "head_seq", "as_of")
    counts = (*places, "accepted", "acknowledged", "pending", "parked", "expired", "filtered")
    types = {"topic": pa.string(), "subscriber": pa.string(), "mode": pa.string(), "created_at": UTC_US}
    assert {field.name: field.type for field in table.schema} == {
        **types,
        **dict.fromkeys(counts, pa.int64()),
        "at": UTC_US,
    }
    row = table.filter(pa.compute.field("topic") == topic).to_pylist()[0]
    account = http.get(f"/v1/topics/{topic}/subscriptions/bps/account").json()
    assert {name: row[name] for name in account} == account
    assert (row["acknowledged"], row["pending"], row["parked"], row["mode"]) == (2, 2, 1, "pull")
    newest = http.get("/v1/traces?max=1").json()["items"][0]
    assert (row["as_of"], newest["kind"]) == (newest["id"], "parked")


# The number of a time.


def test_a_time_is_found_in_a_topic(http: httpx.Client, topic: str) -> None:
    for _ in range(3):
        publish(http, topic)
    times = table_of(http.get(f"/v1/topics/{topic}/batches"))["accepted_at"].to_pylist()
    asked = [times[0] - timedelta(days=1), times[1], times[1] + timedelta(microseconds=1), times[2] + timedelta(days=1)]

    found = [http.get(f"/v1/topics/{topic}/seq", params={"time": one.isoformat()}).json()["seq"] for one in asked]

    assert found == [1, 2, 3, 4]
    local = times[1].isoformat().replace("+00:00", "Z")
    assert http.get(f"/v1/topics/{topic}/seq?time={local}").json() == {"seq": 2}


def test_a_time_is_found_among_the_traces(http: httpx.Client, topic: str) -> None:
    for _ in range(3):
        publish(http, topic)
    rows = table_of(http.get("/v1/traces/batches")).select(["id", "at"]).to_pylist()[-3:]
    asked = [rows[0]["at"], rows[1]["at"], rows[2]["at"], rows[2]["at"] + timedelta(days=1)]

    found = [http.get("/v1/traces/id", params={"time": one.isoformat()}).json() for one in asked]

    assert found == [{"id": row["id"]} for row in rows] + [{"id": rows[2]["id"] + 1}]


# What is refused.


@pytest.mark.parametrize(
    "path",
    [
        "traces/batches?from=0",
        "traces/batches?to=0",
        "traces/batches?from=x",
        f"traces/batches?to={2**63}",
        "traces/batches?topic=t",
        "subscriptions/batches?topic=t",
        "topics/t/seq",
        "topics/t/seq?time=yesterday",
        "topics/t/seq?time=",
        "topics/t/seq?time=2026-11-15T10:00:00Z&x=1",
        "traces/id",
        "traces/id?time=17",
    ],
)
def test_what_makes_no_sense_is_refused(http: httpx.Client, path: str) -> None:
    publish(http, "t")

    answer = http.get(f"/v1/{path}")

    require_problem(answer, 400, "bad_request")


def test_tables_are_served_in_no_other_form(http: httpx.Client) -> None:
    for path in ("traces/batches", "subscriptions/batches", "topics/t/sessions/s"):
        require_problem(http.get(f"/v1/{path}", headers={"Accept": "text/csv"}), 406, "not_acceptable")
    require_problem(http.get("/v1/topics/no-such-topic/seq?time=2026-11-15T10:00:00Z"), 404, "not_found")
    require_problem(http.get("/v1/topics/t/sessions/"), 404, "not_found")
    require_problem(http.post("/v1/topics/t/sessions/a/b"), 405, "method_unknown")


# With keys, and when something ends.


def make_keys(hub: Hub) -> dict[str, dict[str, str]]:
    """What each says of itself."""
    hub.create(Producer(name="dgrec")).result()
    wanted = [NewKey(kind="producer", owner="dgrec"), NewKey(kind="token", owner="read", scopes=("read",))]
    wanted += [NewKey(kind="token", owner="admin", scopes=("admin",))]
    secrets = {one.owner: hub.create_key(one).result().secret for one in wanted}
    return {name: {"Authorization": f"Bearer {secret}"} for name, secret in secrets.items()}


def test_with_keys_a_producer_has_its_session_and_readers_have_everything() -> None:
    with rest_hub() as (running, http):
        send(running.server.hub, "t", "s", 1, "x")
        keys = make_keys(running.server.hub)
        paths = ("traces/batches", "subscriptions/batches", "topics/t/sessions/s")

        own = http.get("/v1/topics/t/sessions/s", headers=keys["dgrec"])
        read = [http.get(f"/v1/{path}", headers={**keys["read"], "Pregon-Producer": "dgrec"}) for path in paths]
        refused = [http.get(f"/v1/{path}", headers=keys["dgrec"]) for path in paths[:2]]
        nobody = [http.get(f"/v1/{path}", headers={"Pregon-Producer": "dgrec"}) for path in paths]

    assert table_of(own)["body"].to_pylist() == table_of(read[2])["body"].to_pylist() == [b"x"]
    assert table_of(read[0]).num_rows == 1
    assert [one.status_code for one in refused] == [403, 403]
    assert [one.status_code for one in nobody] == [401, 401, 401]


def test_a_key_that_is_revoked_in_the_middle_reads_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_table, "TRACE_ROWS_MAX", 5)
    read: Callable[..., Any] = tables.read_trace_rows
    with rest_hub() as (running, http):
        hub = running.server.hub
        for _ in range(20):
            publish(http, "t")
        keys = make_keys(hub)
        key_id = keys["read"]["Authorization"].split("_")[1]

        def revoke_and_read(*wanted: Any) -> pa.RecordBatch:
            hub.revoke_key("token", "read", key_id).result()
            return read(*wanted)

        monkeypatch.setattr(tables, "read_trace_rows", revoke_and_read)
        got = b""
        with (
            pytest.raises(httpx.RemoteProtocolError),
            http.stream("GET", "/v1/traces/batches", headers=keys["read"]) as answer,
        ):
            for chunk in answer.iter_raw():
                got += chunk

    assert answer.status_code == 200
    stream = pa.ipc.open_stream(got)
    assert stream.read_next_batch()["id"].to_pylist() == [1, 2, 3, 4, 5]


def test_a_stream_that_is_open_when_the_hub_stops_is_cut_and_not_ended() -> None:
    with httpx.Client(timeout=30) as client:
        with rest_hub() as (running, _):
            many = ManyTraces()
            running.server.hub.submit(many).result()
            request = client.build_request("GET", f"{running.http}/v1/traces/batches")
            answer = client.send(request, stream=True)
            chunks = answer.iter_raw()
            got = next(chunks)

        with pytest.raises(httpx.TransportError):
            for chunk in chunks:
                got += chunk

    # What was on its way came, and there is no end that would make it look whole.
    assert 0 < len(got) < MANY * len(DETAIL)
    assert not got.endswith(END_OF_STREAM)
