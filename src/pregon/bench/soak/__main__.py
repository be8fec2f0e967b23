"""Run a soak: `python -m pregon.bench.soak [--minutes 5]`. Its exit status says whether all was well at the end."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression

import msgspec

from pregon.bench.hub_process import HubProcess
from pregon.bench.soak.audit import Findings, audit_publications, audit_subscriptions, read_logs
from pregon.bench.soak.cast import Cast, make_cast, register
from pregon.bench.soak.producers import Published
from pregon.bench.soak.stations import StationReport, Taken
from pregon.client import Client
from pregon.errors import PregonError
from pregon.model.catalog import PUSH
from pregon.model.subscription import Accounting

_SETTLE_S_MAX = 180.0
"""How long the hub may take for what is left when nobody publishes any more and every web service is well."""
_END_S_MAX = 120.0
_GROWTH_MIB_MAX = 15.0
"""How much more memory the hub may use at the end of the second half than at its beginning, by the line through it."""
_JUDGED_S_MIN = 180.0
"""In a shorter soak the hub, which was killed in it, is still warming up: its memory is shown and not judged."""
_FAULTS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class _Options:
    minutes: float
    subscribers: int
    topics: int
    rate: float
    seed: int
    directory: Path | None


class _Child:
    """One of the other processes of a soak."""

    def __init__(self, name: str, cast: Path) -> None:
        self.output = cast.with_name(f"{name}.msgpack")
        command = [sys.executable, "-m", f"pregon.bench.soak.{name}", str(cast), str(self.output)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def wait_until_ready(self) -> None:
        """Wait for its first line."""
        assert self._process.stdout is not None
        assert self._process.stdout.readline(), "it ended before it was ready"

    def tell(self, what: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(what)

    def end(self) -> bytes:
        """Tell it to end; what it wrote."""
        self.tell(signal.SIGTERM)
        assert self._process.wait(timeout=_END_S_MAX) == 0
        return self.output.read_bytes()

    def kill(self) -> None:
        """End it, whatever it does."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


class _Memory:
    """The memory of the hub, looked at each second."""

    def __init__(self, hub: HubProcess) -> None:
        self._hub = hub
        self._begun_s = time.monotonic()
        self._stop = threading.Event()
        self.samples: list[tuple[float, float]] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(1.0):
            try:
                mib = self._hub.memory_mib()
            except (AssertionError, OSError):
                # It was killed a moment ago.
                continue
            self.samples.append((time.monotonic() - self._begun_s, mib))

    def stop(self) -> None:
        """Look no more."""
        self._stop.set()
        self._thread.join()

    def trend(self, from_s: float) -> tuple[float, float, float]:
        """The first and the last figure since then, and MiB a minute by the line through all of them."""
        late = [one for one in self.samples if one[0] >= from_s]
        slope, _ = linear_regression([at for at, _ in late], [mib for _, mib in late])
        return late[0][1], late[-1][1], slope * 60


def _accounts(client: Client, cast: Cast) -> dict[tuple[str, str], Accounting]:
    return {(topic, part.name): client.account(topic, part.name) for topic, part in cast.subscriptions}


def _settle(client: Client, cast: Cast) -> float:
    """Wait until nothing is left to push; how many seconds it took."""
    begun, pushed = time.monotonic(), {part.name for part in cast.parts if part.mode == PUSH}
    while time.monotonic() - begun < _SETTLE_S_MAX:
        left = sum(one.pending for (_, name), one in _accounts(client, cast).items() if name in pushed)
        if not left:
            break
        print(f"  {left} left to push", flush=True)
        time.sleep(2)
    return time.monotonic() - begun


@dataclass(slots=True)
class _Soak:
    """A soak under way."""

    options: _Options
    cast: Cast
    hub: HubProcess
    children: dict[str, _Child]
    memory: _Memory

    def run(self) -> tuple[Findings, list[str]]:
        """All of it; what the audit found, and lines for people."""
        seconds = self.options.minutes * 60
        self._sleep(seconds / 3)
        print("  the hub is killed", flush=True)
        self.hub.kill()
        time.sleep(1)
        self.hub.start()
        print(f"  and back, after {self.hub.start_s:.2f} s", flush=True)
        self._sleep(seconds * 2 / 3)
        self.memory.stop()
        published, retries = msgspec.msgpack.decode(self.children["producers"].end(), type=tuple[list[Published], int])
        self.children["stations"].tell(signal.SIGUSR1)
        print(f"  {len(published)} published; the rest is delivered", flush=True)
        findings = Findings()
        with self.hub.client() as client:
            settled_s = _settle(client, self.cast)
            pulled = msgspec.msgpack.decode(self.children["pullers"].end(), type=list[Taken])
            accounts, logs = _accounts(client, self.cast), read_logs(client, self.cast.topics)
        stations = msgspec.msgpack.decode(self.children["stations"].end(), type=StationReport)
        audit_publications(logs, published, findings)
        audit_subscriptions(self.cast, logs, [*stations.taken, *pulled], accounts, findings)
        first, last, slope = self.memory.trend(seconds / 2)
        if seconds >= _JUDGED_S_MIN and slope * seconds / 2 / 60 > _GROWTH_MIB_MAX:
            findings.faults.append(f"the hub's memory grows by {slope:.1f} MiB a minute")
        return findings, [
            f"published {len(published)} ({retries} repeated), {len(accounts)} subscriptions",
            f"delivered {findings.deliveries} ({findings.repeated} more than once), of them {len(pulled)} pulled",
            f"parked {findings.parked}, filtered {findings.filtered}, passed by failing filters "
            f"{findings.passed_by_failing_filters}",
            f"web services: {stations.restarts} restarts, answers {stations.fates}",
            f"nothing left {settled_s:.0f} s after the end",
            f"memory in the second half {first:.0f} to {last:.0f} MiB, {slope:+.2f} MiB a minute",
        ]

    def _sleep(self, seconds: float) -> None:
        last = time.monotonic() + seconds
        while (left := last - time.monotonic()) > 0:
            time.sleep(min(left, 10))
            mib = self.memory.samples[-1][1] if self.memory.samples else 0
            print(f"  {left:.0f} s to go, {mib:.0f} MiB", flush=True)


def _run(options: _Options, directory: Path) -> int:
    cast = make_cast(options.seed, options.subscribers, options.topics)
    cast.publications_per_s = options.rate
    data, log, file = directory / "data", directory / "hub.log", cast.save(directory)
    data.mkdir()
    register(data, cast)
    print(f"soak: {options.minutes:g} minutes, {len(cast.parts)} subscribers, {len(cast.topics)} topics", flush=True)
    ports = (int(cast.hub.rpartition(":")[2]), int(cast.http.rpartition(":")[2]))
    hub = HubProcess(data, "--push-allow", "127.0.0.1", ports=ports, log=log)
    children: dict[str, _Child] = {}
    try:
        children["stations"] = _Child("stations", file)
        children["stations"].wait_until_ready()
        hub.start()
        children |= {name: _Child(name, file) for name in ("producers", "pullers")}
        findings, lines = _Soak(options, cast, hub, children, _Memory(hub)).run()
        begun = time.monotonic()
        hub.stop()
        lines.append(f"the hub stopped in {time.monotonic() - begun:.2f} s")
    finally:
        for child in children.values():
            child.kill()
        hub.kill()
    findings.faults += [
        f"the hub's log: {line[:500]}"
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines()
        if '"level": "error"' in line or '"level":"error"' in line or "Traceback" in line
    ]
    print(*lines, sep="\n")
    for fault in findings.faults[:_FAULTS_SHOWN]:
        print(f"WRONG: {fault}")
    if len(findings.faults) > _FAULTS_SHOWN:
        print(f"WRONG: and {len(findings.faults) - _FAULTS_SHOWN} more")
    print("all is accounted for" if not findings.faults else f"{len(findings.faults)} faults")
    return 1 if findings.faults else 0


def main() -> int:
    """Run it as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m pregon.bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--subscribers", type=int, default=500)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--rate", type=float, default=40.0, help="publications a second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--directory", type=Path, default=None, help="keep everything there")
    options = _Options(**vars(parser.parse_args()))
    try:
        if options.directory is not None:
            options.directory.mkdir(parents=True, exist_ok=True)
            return _run(options, options.directory)
        with tempfile.TemporaryDirectory(prefix="pregon-soak-", dir=Path.cwd()) as scratch:
            return _run(options, Path(scratch))
    except PregonError as error:
        print(f"WRONG: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
