"""The HTTP door measured: publications beside an empty route, SOAP beside REST, batches, pulls, tables beside a file.

wrk sends from many connections; it takes a core for itself, the hub has the other.
"""

from __future__ import annotations

import http.client
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.request import urlopen

import pyarrow as pa

from pregon.bench import ours
from pregon.bench.hub_process import HubProcess
from pregon.bench.peers.install import require_wrk
from pregon.bench.peers.process import PeerMissing, free_ports
from pregon.bench.rounds import ROUNDS, Run, bodies, in_turns
from pregon.model.tables import SCHEMA_SERVED

_BODY_BYTES = 1024
_CONNECTIONS = 64
_BATCH = 100
_ENVELOPE = (
    '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:ps="http://ps.agesic.gub.uy" '
    'xmlns:not="http://noticias.agesic.gub.uy/"><soapenv:Header><ps:producer>bench</ps:producer><ps:topic>soap'
    "</ps:topic></soapenv:Header><soapenv:Body><not:noticia><not:nombre>{}</not:nombre></not:noticia></soapenv:Body>"
    "</soapenv:Envelope>"
)
_PULL = (
    '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:ps="http://ps.agesic.gub.uy">'
    "<soapenv:Header/><soapenv:Body><ps:NotificationRequest><subscriber>bench</subscriber><topic>soap</topic>"
    "<ackNotificationId>{}</ackNotificationId></ps:NotificationRequest></soapenv:Body></soapenv:Envelope>"
)
_NOTIFICATION = re.compile(rb"notificationId>([0-9]+)<")


class _Wrk:
    """wrk with one request, sent again and again."""

    def __init__(self, program: str, directory: Path, seconds: int) -> None:
        self._program = program
        self._directory = directory
        self._seconds = seconds

    def rate(self, url: str, content_type: str, body: str, connections: int) -> float:
        """Answers a second, all of them successes."""
        script = self._directory / "request.lua"
        text = f"wrk.method = 'POST'\nwrk.body = [==[{body}]==]\nwrk.headers['Content-Type'] = '{content_type}'\n"
        script.write_text(text, encoding="utf-8")
        command = [self._program, "-t1", f"-c{connections}", f"-d{self._seconds}", "-s", str(script), url]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert "Non-2xx" not in said, said
        found = re.search(r"Requests/sec:\s+([0-9.]+)", said)
        assert found is not None, said
        return float(found[1])


@contextmanager
def _empty_route() -> Iterator[str]:
    """The address of the route to measure beside."""
    port = free_ports(1)[0]
    process = subprocess.Popen([sys.executable, "-m", "pregon.bench.empty_route", str(port)])
    try:
        for _ in range(200):
            connection = http.client.HTTPConnection("127.0.0.1", port)
            try:
                connection.request("POST", "/v1/topics/t/messages", body=b"x")
                connection.getresponse().read()
                break
            except OSError:
                time.sleep(0.05)
            finally:
                connection.close()
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def measure(run: Run) -> None:
    """All of it."""
    try:
        wrk = _Wrk(require_wrk(run.plan.install), run.directory, 1 if run.plan.quick else 3)
    except PeerMissing as error:
        run.out.print(f"[yellow]{error}[/]")
        return
    with HubProcess(run.folder("doors")) as hub, _empty_route() as empty:
        _publications(run, wrk, hub, empty)
        _pulls(run, hub)
        _tables(run, hub)


def _publications(run: Run, wrk: _Wrk, hub: HubProcess, empty: str) -> None:
    body = "x" * _BODY_BYTES
    batch = '{"messages":[' + ",".join([f'{{"text":"{body}"}}'] * _BATCH) + "]}"
    soap = _ENVELOPE.format("x" * (_BODY_BYTES - len(_ENVELOPE) + 2))
    raw, json, xml = "application/octet-stream", "application/json", "text/xml; charset=utf-8"
    rest = f"http://{hub.http}/v1/topics/rest/messages"
    batches = f"http://{hub.http}/v1/topics/batches/batches"
    timed: dict[str, Callable[[int], float]] = {
        "an empty Starlette route": lambda _: wrk.rate(f"http://{empty}/v1/topics/t/messages", raw, body, _CONNECTIONS),
        "REST, one message": lambda _: wrk.rate(rest, raw, body, _CONNECTIONS),
        "SOAP, one message": lambda _: wrk.rate(f"http://{hub.http}/soap/novedades", xml, soap, _CONNECTIONS),
        f"REST, a JSON batch of {_BATCH}": lambda _: wrk.rate(batches, json, batch, _CONNECTIONS),
        "REST, one message, 1 connection": lambda _: wrk.rate(rest, raw, body, 1),
        f"REST, a JSON batch of {_BATCH}, 1 connection": lambda _: wrk.rate(batches, json, batch, 1),
    }
    for warm_up in timed.values():
        warm_up(0)
    rates = in_turns(ROUNDS, timed)
    run.results["doors_requests_per_s"] = rates
    base = {
        "REST, one message": ("an empty Starlette route", 1),
        "SOAP, one message": ("REST, one message", 1),
        f"REST, a JSON batch of {_BATCH}": ("REST, one message", _BATCH),
        f"REST, a JSON batch of {_BATCH}, 1 connection": ("REST, one message, 1 connection", _BATCH),
    }
    rows = []
    for name, values in rates.items():
        beside, times = base.get(name, ("", 1))
        ratio = median(times * one / other for one, other in zip(values, rates[beside], strict=True)) if beside else 0
        rows.append((name, f"{median(values):,.0f}", f"{ratio:.2f} × {beside}" if beside else ""))
    run.show(
        f"HTTP, {_BODY_BYTES} bytes, {_CONNECTIONS} connections, synced before every answer",
        ("", "requests a second", "messages beside"),
        rows,
    )


def _pulls(run: Run, hub: HubProcess) -> None:
    """SOAP pulls, each acknowledging the one before, over one connection."""
    count = run.plan.scaled(5_000)

    def pull(_round: int) -> float:
        connection = http.client.HTTPConnection(hub.http)
        seq, begun = b"", time.perf_counter()
        for _ in range(count):
            connection.request(
                "POST", "/soap/recepcion", _PULL.format(seq.decode()), {"Content-Type": "text/xml; charset=utf-8"}
            )
            found = _NOTIFICATION.search(connection.getresponse().read())
            assert found is not None
            seq = found[1]
        took = time.perf_counter() - begun
        connection.close()
        return count / took

    with hub.client() as client:
        if not client.list("subscription", names=["soap", "bench"]):
            client.create("subscription", topic="soap", subscriber="bench")
    rates = in_turns(ROUNDS, {"SOAP pull with the ack of the last": pull})
    run.results["soap_pulls_per_s"] = rates
    rows = [
        (name, f"{median(values):,.0f}", f"{min(values):,.0f} – {max(values):,.0f}") for name, values in rates.items()
    ]
    run.show("pulls over one connection, one message each", ("", "a second", "range"), rows)


def _tables(run: Run, hub: HubProcess) -> None:
    """A topic as an Arrow stream beside the same rows in a local file, both read by pyarrow."""
    count = run.plan.scaled(500_000)
    ours.publish(hub, "table", bodies(count), 500, at_once=True)
    url = f"http://{hub.http}/v1/topics/table/batches"
    file = run.directory / "table.arrows"

    def read_http(_round: int) -> float:
        begun = time.perf_counter()
        with urlopen(url) as response:
            table = pa.ipc.open_stream(response).read_all()
        took = time.perf_counter() - begun
        assert table.num_rows == count
        return count / took

    def read_file(_round: int) -> float:
        begun = time.perf_counter()
        with pa.OSFile(str(file)) as source:
            table = pa.ipc.open_stream(source).read_all()
        took = time.perf_counter() - begun
        assert table.num_rows == count
        return count / took

    with urlopen(url) as response, pa.OSFile(str(file), "wb") as sink, pa.ipc.new_stream(sink, SCHEMA_SERVED) as writer:
        for batch in pa.ipc.open_stream(response):
            writer.write_batch(batch)
    rates = in_turns(ROUNDS, {"a local Arrow file": read_file, "/batches over HTTP": read_http})
    run.results["tables_rows_per_s"] = rates
    local = median(rates["a local Arrow file"])
    rows = [(name, f"{median(values):,.0f}", f"{median(values) / local:.2f}") for name, values in rates.items()]
    run.show("a topic as a table in pyarrow, rows a second", ("", "median", "× a local file"), rows)
