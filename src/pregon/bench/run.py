"""Run the benchmarks: every scenario in one run on this machine, ours beside the limit or the peers.

A speed is told as a ratio to something measured in the same run, because machines are shared and noisy; each
figure is the median of several rounds, taken in turns, so that a slow minute slows everybody.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console

from pregon.bench import admin_pages, doors, ours, push, trace_search
from pregon.bench.groups import scenario as groups
from pregon.bench.hub_process import HubProcess, disk_bytes
from pregon.bench.peers import Peer, PeerFailed, PeerMissing, all_peers, find_servers, install_peers
from pregon.bench.physical import BODY_BYTES, append_and_sync_s, round_trip_s
from pregon.bench.rounds import ROUNDS, Plan, Run, bodies, in_turns
from pregon.bench.services import scenario as services
from pregon.errors import BadRequest


@contextmanager
def _peers(run: Run) -> Iterator[list[Peer]]:
    """The peers that are here, started."""
    started: list[Peer] = []
    with ExitStack() as stack:
        if run.plan.peers:
            try:
                versions = install_peers() if run.plan.install else find_servers()
            except PeerMissing as error:
                run.out.print(f"[yellow]{error}[/]")
                versions = find_servers()
            for peer in all_peers():
                if peer.server not in versions:
                    run.out.print(f"[yellow]{peer.name}: its server is not installed (--install)[/]")
                    continue
                try:
                    peer.start(run.folder(peer.server))
                except (PeerMissing, PeerFailed) as error:
                    run.out.print(f"[yellow]{peer.name}: {error}[/]")
                    continue
                stack.callback(peer.stop)
                started.append(peer)
            run.results["peer_versions"] = versions
        yield started


def batches(run: Run) -> None:
    """Durable publish in batches of 500, and pull to Python objects, ours and each peer's."""
    count, peer_count = run.plan.scaled(200_000), run.plan.scaled(30_000)
    messages, few = bodies(count), bodies(peer_count)
    with _peers(run) as peers, HubProcess(run.folder("hub")) as hub:
        ours.publish(hub, "warm-up", few, 500)
        publishing: dict[str, Callable[[int], float]] = {
            "Pregón": lambda n: count / ours.publish(hub, f"batches-{n}", messages, 500, at_once=True),
            "Pregón, one send() a message": lambda n: count / ours.publish(hub, f"sends-{n}", messages, 500),
        }
        pulling: dict[str, Callable[[int], float]] = {
            "Pregón": lambda n: count / ours.consume(hub, f"batches-{n}", "bench", count)
        }
        for peer in peers:
            publishing[peer.name] = lambda n, peer=peer: peer_count / peer.publish(f"batches-{n}", few, 500)  # type: ignore[misc]
            pulling[peer.name] = lambda n, peer=peer: peer_count / peer.consume(f"batches-{n}", peer_count)  # type: ignore[misc]
        published = in_turns(ROUNDS, publishing)
        pulled = in_turns(ROUNDS, pulling)
        memory = hub.memory_mib("VmHWM")
    for title, key, rates in (
        ("durable publish, batches of 500, messages a second", "publish", published),
        ("pull to Python objects with acknowledgements, messages a second", "pull", pulled),
    ):
        mine = median(rates["Pregón"])
        rows = [
            (name, f"{median(values):,.0f}", f"{min(values):,.0f} – {max(values):,.0f}", f"{mine / median(values):.1f}")
            for name, values in rates.items()
        ]
        run.results[key] = rates
        run.show(title, ("", "median", "range", "Pregón is × faster"), rows)
    run.results["hub_memory_mib_after_batches"] = memory
    run.out.print(f"the hub's memory at most: {memory:.0f} MiB\n")


def single(run: Run) -> None:
    """One message at a time beside the physical limit; then 64 clients at once beside one."""
    count = run.plan.scaled(2_000)
    few = bodies(max(count // ROUNDS, 100))
    directory = run.folder("single")
    seconds = 1.0 if run.plan.quick else 3.0
    with HubProcess(directory) as hub, _peers(run) as peers:
        timed: dict[str, Callable[[int], float]] = {
            "sync": lambda _: append_and_sync_s(directory, BODY_BYTES, len(few)),
            "round trip": lambda _: round_trip_s(BODY_BYTES, len(few)),
            "Pregón": lambda n: median(ours.publish_one_by_one(hub, f"single-{n}", few)),
        }
        for peer in peers:
            timed[peer.name] = lambda n, peer=peer: median(peer.publish_one_by_one(f"single-{n}", few))  # type: ignore[misc]
        latency = {name: [value * 1e6 for value in values] for name, values in in_turns(ROUNDS, timed).items()}
        rates = in_turns(
            ROUNDS,
            {
                "1 client": lambda _: ours.publish_at_once(hub, "one", 1, seconds),
                "64 clients": lambda _: ours.publish_at_once(hub, "many", 64, seconds),
            },
        )
    limit = median(latency["sync"]) + median(latency["round trip"])
    rows = [("a bare append and fdatasync", f"{median(latency['sync']):,.0f}", "")]
    rows.append(("a loopback round trip", f"{median(latency['round trip']):,.0f}", ""))
    rows += [
        (name, f"{median(values):,.0f}", f"{median(values) / limit:.2f}")
        for name, values in latency.items()
        if name not in ("sync", "round trip")
    ]
    run.results["single_us"], run.results["at_once"] = latency, rates
    run.show("one message at a time, median µs", ("", "µs", "× (append + round trip)"), rows)
    one = median(rates["1 client"])
    rows = [(name, f"{median(values):,.0f}", f"{median(values) / one:.1f}") for name, values in rates.items()]
    run.show("single publications at once, messages a second", ("", "median", "× one client"), rows)


def fan_out(run: Run) -> None:
    """Publishing to a topic with 1, 10 and 100 subscriptions."""
    messages = bodies(run.plan.scaled(100_000))
    with HubProcess(run.folder("fan-out")) as hub:
        with hub.client() as client:
            for subscriptions in (1, 10, 100):
                for number in range(subscriptions):
                    client.create("subscription", topic=f"to-{subscriptions}", subscriber=f"s{number}")
        ours.publish(hub, "warm-up", messages, 500)
        rates = in_turns(
            ROUNDS,
            {
                str(n): (lambda _, n=n: len(messages) / ours.publish(hub, f"to-{n}", messages, 500, at_once=True))  # type: ignore[misc]
                for n in (1, 10, 100)
            },
        )
    one = median(rates["1"])
    rows = [(name, f"{median(values):,.0f}", f"{median(values) / one:.2f}") for name, values in rates.items()]
    run.results["fan_out"] = rates
    run.show("publish by number of subscriptions, messages a second", ("subscriptions", "median", "× one"), rows)


def growth(run: Run) -> None:
    """The same work at 100 thousand and at 10 million stored messages; starting; memory."""
    messages = bodies(50_000)
    hubs: dict[str, HubProcess] = {}
    timed: dict[str, Callable[[int], float]] = {}
    for stored in (100_000, run.plan.scaled(10_000_000)):
        hub = hubs[f"{stored:,}"] = HubProcess(run.folder("growth"))
        hub.start()
        for _ in range(stored // len(messages)):
            ours.publish(hub, "log", messages, 500, at_once=True)
        hub.stop()
        hub.start()
        timed[f"publish {stored:,}"] = partial(_publish_again, hub, messages)
        timed[f"pull {stored:,}"] = partial(_pull_again, hub, len(messages))
    rates = in_turns(2 * ROUNDS, timed)
    figures: dict[str, dict[str, float]] = {}
    for name, hub in hubs.items():
        figures[name] = {
            "publish": median(rates[f"publish {name}"]),
            "pull": median(rates[f"pull {name}"]),
            "start_s": hub.start_s,
            "memory_mib": hub.memory_mib("VmHWM"),
            "disk_mib": disk_bytes(hub.directory) / 2**20,
        }
        hub.stop()
    run.results["growth"] = figures
    rows = [
        (
            name,
            f"{one['publish']:,.0f}",
            f"{one['pull']:,.0f}",
            f"{one['start_s']:.2f}",
            f"{one['memory_mib']:.0f}",
            f"{one['disk_mib']:,.0f}",
        )
        for name, one in figures.items()
    ]
    columns = ("stored", "publish/s", "pull/s", "start s", "memory MiB", "disk MiB")
    run.show("as the log grows", columns, rows)


def _publish_again(hub: HubProcess, messages: list[bytes], _round: int) -> float:
    return len(messages) / ours.publish(hub, "log", messages, 500, at_once=True)


def _pull_again(hub: HubProcess, count: int, number: int) -> float:
    return count / ours.consume(hub, "log", f"s{number}", count)


def spark(run: Run) -> None:
    """The data pipeline, if PySpark is installed."""
    try:
        from pregon.bench.spark import scenario
    except ImportError as error:
        run.out.print(f"[yellow]spark: {error} (pip install 'pregon[spark]')[/]")
        return
    scenario.measure(run)


SCENARIOS: dict[str, Callable[[Run], None]] = {
    "batches": batches,
    "single": single,
    "fan-out": fan_out,
    "growth": growth,
    "doors": doors.measure,
    "traces": trace_search.measure,
    "push": push.measure,
    "admin": admin_pages.measure,
    "services": services.measure,
    "groups": groups.measure,
    "spark": spark,
}


def run_benchmarks(plan: Plan) -> dict[str, Any]:
    """Run the plan's scenarios, show them, and return what was measured."""
    unknown = sorted(set(plan.only) - set(SCENARIOS))
    if unknown:
        raise BadRequest(f"{unknown[0]!r} is not a scenario: use {', '.join(SCENARIOS)}")
    if plan.directory is not None:
        plan.directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pregon-bench-", dir=plan.directory or Path.cwd()) as scratch:
        run = Run(plan, Path(scratch), Console(highlight=False))
        run.results["machine"] = {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "system": platform.platform(),
        }
        for name, scenario in SCENARIOS.items():
            if not plan.only or name in plan.only:
                scenario(run)
    if plan.output is not None:
        plan.output.parent.mkdir(parents=True, exist_ok=True)
        plan.output.write_text(json.dumps(run.results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return run.results
