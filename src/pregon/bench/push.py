"""Pushes measured: how soon after its acceptance a message is at its subscriber, and how many a second one hub holds.

Both beside a bare loop of the HTTP client library that the hub uses, which posts the same requests to the same
receivers from a process of its own. On two cores the hub, or the loop, has one for itself; the receivers and who
publishes share the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import median

from pregon.bench.bare_posts import Post, Posts, post_bare
from pregon.bench.hub_process import HubProcess
from pregon.bench.pacing import Publication, ask_at_once, publish_paced
from pregon.bench.push_site import PushedTo, Site, prepare
from pregon.bench.receivers import HOSTILE, Push, Receivers
from pregon.bench.rounds import ROUNDS, Run, bodies, in_turns
from pregon.client import Client, calls
from pregon.clock import wall_us
from pregon.delivery.formats import make_request
from pregon.model.catalog import CLOUDEVENTS, FORMATS, RAW, SOAP
from pregon.security.signatures import decode_secret

_RECEIVERS = 100
_PUSHES_PER_S = 500
_TOPICS_DRAINED = 10
_EACH_DRAINED = 100
"""Messages of each subscription in a backlog that is drained."""
_HEALTHY = 200
_ISOLATION_TOPICS = 20
_SETTLE_S = 60.0
"""How long to wait for what is still on its way."""
_LOOK_S = 0.2
_NAMES = {RAW: "raw, signed", CLOUDEVENTS: "cloudevents, signed", SOAP: "soap"}


def measure(run: Run) -> None:
    """All of it."""
    _latencies(run)
    _rates(run)
    _isolation(run)


@dataclass(frozen=True, slots=True)
class _Latency:
    p50_ms: float
    p99_ms: float


def _percentiles(times_ms: Sequence[float]) -> _Latency:
    ordered = sorted(times_ms)
    return _Latency(ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)])


@contextmanager
def _hub(run: Run, site: Site) -> Iterator[HubProcess]:
    directory = run.folder("push")
    prepare(directory, site)
    with HubProcess(directory, "--push-allow", "127.0.0.1") as hub:
        yield hub


# From acceptance to receipt.


def _latencies(run: Run) -> None:
    """100 receivers, 500 pushes a second: a topic for each, and one topic for all."""
    seconds = 3.0 if run.plan.quick else 8.0
    results: dict[str, dict[str, list[_Latency]]] = {}
    with Receivers(_RECEIVERS) as receivers:
        own = [PushedTo(f"s{n}", (f"own-{n}",), one, RAW) for n, one in enumerate(receivers.endpoints)]
        shared = [PushedTo(f"all{n}", ("shared",), one, RAW) for n, one in enumerate(receivers.endpoints)]
        site = Site([*own, *shared])
        evenly = [
            Publication(step / _PUSHES_PER_S, f"own-{step % _RECEIVERS}")
            for step in range(round(seconds * _PUSHES_PER_S))
        ]
        per_s = _PUSHES_PER_S / _RECEIVERS
        together = [Publication(step / per_s, "shared") for step in range(round(seconds * per_s))]
        with _hub(run, site) as hub:
            for title, plan, to in (
                ("100 topics, 5 publications a second each", evenly, own),
                ("1 topic with 100 subscribers, 5 publications a second", together, shared),
            ):
                posts = _as_posts(plan, to, receivers)
                timed: dict[str, Callable[[int], _Latency]] = {
                    "the bare loop": partial(_bare_latency, run, receivers, posts),
                    "Pregón": partial(_hub_latency, hub, receivers, plan, to),
                }
                timed["Pregón"](0)
                results[title] = in_turns(ROUNDS, timed)
            _whole_reading(run, hub, receivers, shared)
    _show_latencies(run, "from acceptance to receipt, ms (raw, signed; 500 pushes a second)", results)


def _show_latencies(run: Run, title: str, results: dict[str, dict[str, list[_Latency]]]) -> None:
    rows = []
    for layout, rounds in results.items():
        for name, values in rounds.items():
            p50, p99 = [one.p50_ms for one in values], [one.p99_ms for one in values]
            row = (f"{layout}: {name}", f"{median(p50):.1f}", f"{median(p99):.1f}", f"{min(p99):.1f} – {max(p99):.1f}")
            rows.append(row)
    run.results.setdefault("push_latency_ms", {})[title] = {
        layout: {name: [[one.p50_ms, one.p99_ms] for one in values] for name, values in rounds.items()}
        for layout, rounds in results.items()
    }
    run.show(title, ("", "p50", "p99", "p99 of the rounds"), rows)


def _hub_latency(
    hub: HubProcess, receivers: Receivers, plan: Sequence[Publication], to: Sequence[PushedTo], _round: int
) -> _Latency:
    heads = _heads(hub, to)
    receivers.begin(keeps=True)
    publish_paced(hub.url, plan)
    wanted = sum(topic == one.topic for one in plan for target in to for topic in target.topics)
    pushes = _wait_for(receivers, wanted)
    return _percentiles(_waited_ms(hub, pushes, to, heads))


def _heads(hub: HubProcess, to: Sequence[PushedTo]) -> dict[str, int]:
    topics = {topic for one in to for topic in one.topics}
    with hub.client() as client:
        return {topic: int(client.show("topic", topic)["head_seq"]) for topic in topics}


def _wait_for(receivers: Receivers, count: int, seconds: float = _SETTLE_S) -> list[Push]:
    """What came, when that is so much at least."""
    last = time.monotonic() + seconds
    while (came := receivers.count()) < count:
        assert time.monotonic() < last, f"only {came} of {count} pushes came"
        time.sleep(_LOOK_S)
    return receivers.report()


def _waited_ms(hub: HubProcess, pushes: Sequence[Push], to: Sequence[PushedTo], heads: dict[str, int]) -> list[float]:
    """How long after its acceptance each push was at its receiver."""
    accepted: dict[tuple[str, int], int] = {}
    with hub.client() as client:
        for topic, head in heads.items():
            accepted |= {(topic, seq): us for seq, us in _accepted_since(client, topic, head)}
    # One topic for each receiver, or all the same: the number of the service says which.
    return [(one.received_us - accepted[to[one.service].topics[0], one.seq]) / 1_000 for one in pushes]


def _accepted_since(client: Client, topic: str, head: int) -> Iterator[tuple[int, int]]:
    while found := client.read(topic, head + 1, max=5_000).messages:
        for message in found:
            yield message.seq, message.accepted_us
        head = found[-1].seq


def _as_posts(plan: Sequence[Publication], to: Sequence[PushedTo], receivers: Receivers) -> Posts:
    """The same pushes as the bare loop makes them."""
    headers, body = _EXAMPLE_HEADERS, bodies(1)[0]
    lines: list[list[Post]] = [[] for _ in to]
    for one in plan:
        for line, target in zip(lines, to, strict=True):
            if one.topic in target.topics:
                line.append(Post(one.at_s + 0.5, headers, body))
    return Posts(receivers.endpoints, lines)


_EXAMPLE_HEADERS = {
    "User-Agent": "pregon/0.0.0",
    "Accept-Encoding": "identity",
    "Pregon-Attempt": "1",
    "Content-Type": "application/octet-stream",
    "Pregon-Topic": "own-10",
    "Pregon-Seq": "1000",
    "Pregon-Id": "01a1e1c77c1375d7ac43ad17",
    "Pregon-Producer": "bench",
    "Pregon-Published-At": "2025-01-01T00:00:00.000000Z",
    "Pregon-Accepted-At": "2025-01-01T00:00:00.000000Z",
    "webhook-id": "own-10:1000",
    "webhook-timestamp": "1735689600",
    "webhook-signature": "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
}


def _bare_latency(run: Run, receivers: Receivers, posts: Posts, _round: int) -> _Latency:
    """The same from the moment at which the loop posts."""
    receivers.begin(keeps=True)
    post_bare(posts, run.directory)
    return _percentiles([(one.received_us - one.stamped_us) / 1_000 for one in receivers.report()])


def _whole_reading(run: Run, hub: HubProcess, receivers: Receivers, to: Sequence[PushedTo]) -> None:
    """500 publications in a second to a topic with 100 subscribers: 50,000 pushes, more than a core can make."""
    count = run.plan.scaled(50_000) // _RECEIVERS
    plan = [Publication(step / _PUSHES_PER_S, "shared") for step in range(count)]
    heads = _heads(hub, to)
    receivers.begin(keeps=True)
    publish_paced(hub.url, plan)
    pushes = _wait_for(receivers, count * _RECEIVERS, 300)
    latency = _percentiles(_waited_ms(hub, pushes, to, heads))
    rate = _rate(pushes)
    run.results["push_whole"] = {"pushes_per_s": rate, "p50_ms": latency.p50_ms, "p99_ms": latency.p99_ms}
    run.out.print(
        f"{count} publications at {_PUSHES_PER_S} a second to 100 subscribers each: {rate:,.0f} pushes a second, "
        f"the last after {latency.p99_ms / 1_000:.1f} s\n"
    )


# The highest rate.


def _rates(run: Run) -> None:
    """A backlog in 100 subscriptions, drained; each format, in turns with the bare loop."""
    each = 20 if run.plan.quick else _EACH_DRAINED
    per_topic = _RECEIVERS // _TOPICS_DRAINED
    with Receivers(_RECEIVERS) as receivers:
        to = {
            form: [
                PushedTo(f"{form}{n}", (f"backlog-{n // per_topic}",), endpoint, form)
                for n, endpoint in enumerate(receivers.endpoints)
            ]
            for form in FORMATS
        }
        site = Site(
            [one for targets in to.values() for one in targets],
            backlog={f"backlog-{n}": bodies(each) for n in range(_TOPICS_DRAINED)},
        )
        with _hub(run, site) as hub:
            timed: dict[str, Callable[[int], float]] = {}
            for form, targets in to.items():
                posts = _backlog_posts(hub, targets, site)
                timed[f"{form}, bare"] = partial(_bare_rate, run, receivers, posts)
                timed[form] = partial(_hub_rate, hub, receivers, targets, each)
            for warm_up in timed.values():
                warm_up(0)
            rates = in_turns(ROUNDS, timed)
    run.results["pushes_per_s"] = rates
    rows = []
    for form, name in _NAMES.items():
        ratio = median(one / other for one, other in zip(rates[form], rates[f"{form}, bare"], strict=True))
        mine, bare = median(rates[form]), median(rates[f"{form}, bare"])
        rows.append((name, f"{mine:,.0f}", f"{bare:,.0f}", f"{ratio:.2f}"))
    run.show(
        f"a backlog of {each} messages in each of {_RECEIVERS} subscriptions drained, pushes a second",
        ("", "Pregón", "the bare loop", "× the bare loop"),
        rows,
    )


def _backlog_posts(hub: HubProcess, targets: Sequence[PushedTo], site: Site) -> Posts:
    """Exactly what the hub will post."""
    now_s, lines = wall_us() // 1_000_000, []
    with hub.client() as client:
        for target in targets:
            secret = decode_secret(site.secrets[target.name])
            found = client.read(target.topics[0], 1, max=5_000).messages
            line = []
            for message in found:
                made = make_request(target.format, message, secrets=[secret], now_s=now_s, endpoint=target.endpoint)
                line.append(Post(0, {str(name): value for name, value in made.headers.items()}, made.body))
            lines.append(line)
    return Posts([one.endpoint for one in targets], lines)


def _hub_rate(hub: HubProcess, receivers: Receivers, targets: Sequence[PushedTo], each: int, _round: int) -> float:
    receivers.begin(keeps=False)
    ask_at_once(hub.url, [calls.replay(target.topics[0], target.name, 1, None) for target in targets])
    return _rate(_wait_for(receivers, each * len(targets)))


def _bare_rate(run: Run, receivers: Receivers, posts: Posts, _round: int) -> float:
    receivers.begin(keeps=False)
    post_bare(posts, run.directory)
    return _rate(receivers.report())


def _rate(pushes: Sequence[Push]) -> float:
    """Pushes a second, without the tenth in which it begins and the one in which it ends."""
    times = sorted(one.received_us for one in pushes)
    first, last = len(times) // 10, len(times) * 9 // 10
    return (last - first) / (times[last] - times[first]) * 1e6


# Who is slow is slow alone.


def _isolation(run: Run) -> None:
    """200 healthy subscribers, with and without four hostile ones beside them."""
    seconds = 3.0 if run.plan.quick else 8.0
    topics = tuple(f"topic-{n}" for n in range(_ISOLATION_TOPICS))
    # The hostile ones in a process of their own: what they do to it must not look like something of the hub's.
    with Receivers(_HEALTHY) as receivers, Receivers(0, HOSTILE) as others:
        healthy = [
            PushedTo(f"s{n}", (topics[n % _ISOLATION_TOPICS],), endpoint, RAW)
            for n, endpoint in enumerate(receivers.endpoints)
        ]
        hostile = [
            PushedTo(kind, (topics[n],), endpoint, SOAP)
            for n, (kind, endpoint) in enumerate(zip(HOSTILE, others.hostile_endpoints, strict=True))
        ]
        per_s = _PUSHES_PER_S * _ISOLATION_TOPICS // _HEALTHY
        plan = [Publication(step / per_s, topics[step % _ISOLATION_TOPICS]) for step in range(round(seconds * per_s))]
        with _hub(run, Site([*healthy, *hostile])) as hub:
            rounds: dict[str, list[_Latency]] = {"without": [], "with": []}
            for number in range(2 * ROUNDS + 1):
                is_with = number % 2 == 0
                _enable(hub, hostile, is_with)
                latency = _hub_latency(hub, receivers, plan, healthy, number)
                if number:
                    rounds["with" if is_with else "without"].append(latency)
    results = {f"200 healthy, {name} 4 hostile ones": {"Pregón": values} for name, values in rounds.items()}
    _show_latencies(run, "healthy subscribers beside hostile ones, ms", results)


def _enable(hub: HubProcess, targets: Sequence[PushedTo], enabled: bool) -> None:
    with hub.client() as client:
        for target in targets:
            client.update("subscriber", target.name, enabled=enabled)
