"""The scenario `services`: requests a second and the time of one, ours and everybody else's, in turns.

Each contender is there from the first round to the last, idle while another is asked. A ratio is of the same round,
and the one that is told is the median of the rounds'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from statistics import median

from pregon.bench.peers import PeerFailed, PeerMissing, find_servers, install_peers
from pregon.bench.rounds import ROUNDS, Run, in_turns
from pregon.bench.services import celery_tasks, library, majordomo, nats_requests, pregon_broker, rabbitmq_rpc, raw_zmq
from pregon.bench.services.asking import Ask, Asked
from pregon.bench.services.beside_publishing import measure_beside_publishing
from pregon.bench.services.contender import Contender
from pregon.bench.services.dispatch_curve import measure_dispatch
from pregon.bench.services.unequal_jobs import measure_unequal_jobs

IN_FLIGHT = (50, 500)
_STARTED_AT_ONCE = 3


def measure(run: Run) -> None:
    """All of it."""
    with _contenders(run) as contenders:
        # First, because some have a long tail of work to do after many.
        _one_at_a_time(run, contenders)
        for in_flight in IN_FLIGHT:
            _throughput(run, contenders, in_flight)
    measure_dispatch(run)
    measure_unequal_jobs(run)
    measure_beside_publishing(run)


@contextmanager
def _contenders(run: Run) -> Iterator[list[Contender]]:
    """Those that can be measured here, started; the others are told."""
    if run.plan.peers and run.plan.install:
        try:
            install_peers()
        except PeerMissing as error:
            run.out.print(f"[yellow]{error}[/]")
    wanted = _wanted(run)
    with ExitStack() as stack:
        started = []
        with ThreadPoolExecutor(_STARTED_AT_ONCE) as starters:
            for contender, problem in zip(wanted, starters.map(partial(_start, run), wanted), strict=True):
                if problem is not None:
                    run.out.print(f"[yellow]{contender.name}: {problem}[/]")
                    continue
                stack.callback(contender.stop)
                started.append(contender)
        yield started


def _wanted(run: Run) -> list[Contender]:
    """Ours, what is measured beside it always, and the peers; a quick run has one of each."""
    wanted = [raw_zmq.c_proxy(), pregon_broker.by_heads(), library.by_map(), pregon_broker.by_plain_form()]
    wanted.append(majordomo.majordomo())
    if run.plan.peers:
        run.results["services_peer_versions"] = find_servers()
        wanted += [nats_requests.nats_by_inbox(), rabbitmq_rpc.rabbitmq_by_events(), celery_tasks.celery_on_redis()]
    if not run.plan.quick:
        wanted.insert(3, library.by_await())
        if run.plan.peers:
            wanted += [nats_requests.nats_by_request(), rabbitmq_rpc.rabbitmq_by_calls()]
    return wanted


def _start(run: Run, contender: Contender) -> Exception | None:
    try:
        contender.start(run.folder("services"))
    except (PeerMissing, PeerFailed) as problem:
        return problem
    return None


def _in_turns(run: Run, contenders: list[Contender], ask: Ask) -> dict[str, list[Asked]]:
    timed: dict[str, Callable[[int], Asked]] = {one.name: partial(_ask, one, ask) for one in contenders}
    return in_turns(2 if run.plan.quick else ROUNDS, timed)


def _ask(contender: Contender, ask: Ask, _round: int) -> Asked:
    return contender.ask(ask)


def _throughput(run: Run, contenders: list[Contender], in_flight: int) -> None:
    asked = _in_turns(run, contenders, Ask(0.2 if run.plan.quick else 0.7, in_flight))
    rates = {name: [one.per_s for one in values] for name, values in asked.items()}
    run.results.setdefault("services_per_s", {})[str(in_flight)] = rates
    # The broker with raw clients beside every broker; the library's best beside those who have one too.
    columns = [one().name for one in (pregon_broker.by_heads, library.by_map, library.by_await)]
    rows = []
    for name, values in rates.items():
        ratios = (_ratio(rates.get(mine), values) for mine in columns)
        rows.append((name, f"{median(values):,.0f}", f"{min(values):,.0f} – {max(values):,.0f}", *ratios))
    run.show(
        f"{in_flight} requests of 4 bytes in flight, two workers, requests a second",
        ("", "median", "range", "PGS/1 is ×", "map() is ×", "await is ×"),
        rows,
    )


def _ratio(mine: list[float] | None, others: list[float]) -> str:
    if mine is None or mine is others:
        return ""
    return f"{median(one / other for one, other in zip(mine, others, strict=True)):.2f}"


def _one_at_a_time(run: Run, contenders: list[Contender]) -> None:
    asked = _in_turns(run, contenders, Ask(0.2 if run.plan.quick else 0.7, in_flight=1))
    run.results["services_one_us"] = {
        name: [[one.p50_us, one.p99_us] for one in values] for name, values in asked.items()
    }
    proxy = [one.p50_us for one in asked.get(raw_zmq.c_proxy().name, [])]
    rows = []
    for name, values in asked.items():
        p50, p99 = [one.p50_us for one in values], [one.p99_us for one in values]
        beside = median(one / other for one, other in zip(p50, proxy, strict=True)) if proxy else float("nan")
        spread = f"{min(p50):,.0f} – {max(p50):,.0f}"
        rows.append((name, f"{median(p50):,.0f}", spread, f"{median(p99):,.0f}", f"{beside:.2f}"))
    run.show(
        "one request at a time, µs",
        ("", "p50", "p50 of the rounds", "p99", "p50 × the C proxy's"),
        rows,
    )
