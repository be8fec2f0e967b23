"""The hub's numbers in Prometheus' format, read when they are asked for.

The page has two parts. What the hub counts as a whole is read as it is, at each request. What there is for each topic
and subscription (the *series*) needs a look into the store: it is read and written out in a reader thread, and kept
for a second.

Promises:
- A scrape never holds up the event loop, however many subscriptions there are, and never fails because the store is
  slow: then the series are left out.
- Names of topics and subscribers are only on the page; who may see it is decided before (the scope `read`).
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from pregon.clock import monotonic_ms, wall_us
from pregon.delivery.figures import Figures, Histogram, Names
from pregon.edges.http.answers import Answer
from pregon.edges.http.exchange import Exchange
from pregon.edges.http.metrics_groups import render_groups
from pregon.edges.http.metrics_services import render_services
from pregon.edges.http.routes import Desk
from pregon.errors import PregonError
from pregon.hub.hub import Hub
from pregon.model.activity import OTHERS
from pregon.model.catalog import MODES, PUSH
from pregon.security.keys import READ
from pregon.store.backlogs import Backlog, read_backlogs
from pregon.store.database import SqliteDatabase

log = logging.getLogger("pregon.edges")

SERIES_KEPT_MS = 1_000
"""How old what is said of topics and subscriptions may be."""
SERIES_TIMEOUT_S = 5.0
"""How long a scrape waits for them; Prometheus itself gives up after ten seconds."""
BACKLOGS_SHOWN_MAX = 5_000
"""Subscriptions whose backlogs are shown apart: those that fail and the longest ones; the rest together."""

_COUNTERS = {
    "messages_accepted": "Messages stored",
    "bytes_accepted": "Arrow bytes stored",
    "duplicates": "Messages recognised as published before",
    "messages_delivered": "Messages given to subscribers",
    "acknowledgements": "Acknowledgements",
    "requests": "Requests on the fast lane",
    "requests_failed": "Requests answered with an error",
    "frames_malformed": "Requests that were not PREGON/1",
    "feed_messages": "Messages shown on the live feed",
    "feed_batches_dropped": "Batches not shown on the live feed because it was behind",
    "ingest_messages": "Messages taken by the ingest and stored",
    "ingest_dropped": "Messages that the ingest dropped",
}


class _HubCollector:
    def __init__(self, hub: Hub, figures: Figures) -> None:
        self._hub = hub
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        """Every number of now."""
        for name, text in _COUNTERS.items():
            yield CounterMetricFamily(f"pregon_{name}", text, value=getattr(self._hub.counters, name))
        yield CounterMetricFamily("pregon_commits", "Transactions on disk", value=self._hub.committer.commits)
        yield GaugeMetricFamily("pregon_commit_queue", "Operations waiting", value=self._hub.committer.queued)
        yield from self._of_tables()
        yield GaugeMetricFamily("pregon_pulls_waiting", "Pulls waiting for news", value=self._hub.waiting.count)
        yield GaugeMetricFamily(
            "pregon_pushes_in_flight", "Pushes waiting for their answer", value=self._figures.in_flight
        )
        database = self._hub.database
        if isinstance(database, SqliteDatabase):
            free_bytes = shutil.disk_usage(database.directory).free
            yield GaugeMetricFamily("pregon_store_free_bytes", "Room on the disk of the data", value=free_bytes)

    def _of_tables(self) -> Iterator[Metric]:
        pace = self._hub.table_pace
        yield CounterMetricFamily("pregon_table_parts", "Parts of tables that were served", value=pace.parts)
        yield CounterMetricFamily(
            "pregon_table_rest_seconds",
            "Time that parts of tables rested for publication",
            value=pace.rested_ms / 1_000,
        )
        yield GaugeMetricFamily("pregon_table_parts_waiting", "Parts of tables waiting for a turn", value=pace.waiting)


def render_metrics(hub: Hub, figures: Figures) -> bytes:
    """What the hub counts as a whole, as text."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_HubCollector(hub, figures))
    return generate_latest(registry)


class MetricsHandler:
    """Answers `GET /metrics`."""

    def __init__(self) -> None:
        self._series = b""
        self._made_ms = float("-inf")
        self._making: asyncio.Task[None] | None = None

    async def __call__(self, desk: Desk, exchange: Exchange) -> Answer:
        """The hub's numbers for Prometheus."""
        caller = desk.caller(exchange)
        desk.gate.rules.require(caller, READ)
        series = await self._find_series(desk)
        if desk.services is not None:
            services = await desk.answer(desk.services.list_services(caller))
            series += render_services(services, await desk.answer(desk.services.counts(caller)))
        if desk.groups is not None:
            series += render_groups(desk.groups.counts(caller))
        return Answer(render_metrics(desk.hub, desk.figures) + series, 200, "text/plain; version=0.0.4")

    async def _find_series(self, desk: Desk) -> bytes:
        """The series, not older than they may be; none if the store does not answer."""
        if monotonic_ms() - self._made_ms > SERIES_KEPT_MS:
            if self._making is None or self._making.done():
                self._making = asyncio.create_task(self._make_series(desk))
            try:
                # Those who ask at the same time share one read, which goes on when one of them leaves.
                await asyncio.wait_for(asyncio.shield(self._making), SERIES_TIMEOUT_S)
            except (TimeoutError, PregonError) as error:
                log.warning("metrics without series", extra={"reason": str(error) or "the store did not answer"})
                return b""
        return self._series

    async def _make_series(self, desk: Desk) -> None:
        figures = desk.figures
        self._series = await desk.answer(
            desk.hub.read(lambda connection: render_series(read_backlogs(connection), figures, wall_us()))
        )
        self._made_ms = monotonic_ms()


def render_series(backlogs: Sequence[Backlog], figures: Figures, now_us: int) -> bytes:
    """What there is for each topic and subscription, as text.

    Written by hand: 1 µs a line, where the library's objects take 13, and there may be 100,000 lines. Names need no
    escaping (see `model.names`).
    """
    if figures.is_full:
        figures.forget_all_but({(one.topic, one.subscriber) for one in backlogs})
    lines = [*_of_backlogs(backlogs, now_us), *_of_volumes(figures), *_of_pushes(figures)]
    return ("\n".join(lines) + "\n").encode()


def _family(name: str, kind: str, text: str, lines: Iterable[str]) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}", *lines]


def _labels(names: Names) -> str:
    return f'topic="{names[0]}",subscriber="{names[1]}"'


def _of_backlogs(backlogs: Sequence[Backlog], now_us: int) -> Iterator[str]:
    """Gauges of what waits, and of how pushing goes."""
    shown = backlogs
    if len(backlogs) > BACKLOGS_SHOWN_MAX:
        shown = nlargest(BACKLOGS_SHOWN_MAX, backlogs, key=lambda one: (one.is_failing, one.pending))
        apart = {(one.topic, one.subscriber) for one in shown}
        shown = [*shown, _together([one for one in backlogs if (one.topic, one.subscriber) not in apart])]
    labelled = [(_labels((one.topic, one.subscriber)), one) for one in shown]
    pushed = [(labels, one) for labels, one in labelled if one.mode == PUSH]
    yield from _family(
        "pregon_subscriptions", "gauge", "Subscriptions",
        (f'pregon_subscriptions{{mode="{mode}"}} {sum(one.mode == mode for one in backlogs)}' for mode in MODES),
    )  # fmt: skip
    failing = sum(one.is_failing for one in backlogs)
    yield from _family(
        "pregon_subscriptions_failing", "gauge", "Subscriptions whose pushes fail",
        [f"pregon_subscriptions_failing {failing}"],
    )  # fmt: skip
    yield from _family(
        "pregon_backlog_messages", "gauge", "Messages pending",
        (f"pregon_backlog_messages{{{labels}}} {one.pending}" for labels, one in labelled),
    )  # fmt: skip
    yield from _family(
        "pregon_backlog_age_seconds", "gauge", "How long ago the oldest pending message was accepted",
        (f"pregon_backlog_age_seconds{{{labels}}} {_age_s(one, now_us)}" for labels, one in labelled),
    )  # fmt: skip
    yield from _family(
        "pregon_parked_messages", "gauge", "Messages set aside",
        (f"pregon_parked_messages{{{labels}}} {one.parked}" for labels, one in labelled),
    )  # fmt: skip
    yield from _family(
        "pregon_subscription_failing", "gauge", "Whether its pushes fail",
        (f"pregon_subscription_failing{{{labels}}} {int(one.is_failing)}" for labels, one in pushed),
    )  # fmt: skip
    yield from _family(
        "pregon_subscription_disabled", "gauge", "Whether nothing is pushed to it any more",
        (f"pregon_subscription_disabled{{{labels}}} {int(not one.enabled)}" for labels, one in pushed),
    )  # fmt: skip
    yield from _family(
        "pregon_subscription_paused", "gauge", "Whether somebody paused it",
        (f"pregon_subscription_paused{{{labels}}} {int(one.paused)}" for labels, one in pushed),
    )  # fmt: skip


def _age_s(backlog: Backlog, now_us: int) -> float:
    return max(0, now_us - backlog.oldest_pending_us) / 1_000_000 if backlog.oldest_pending_us else 0


def _together(backlogs: Sequence[Backlog]) -> Backlog:
    """The backlogs that are not shown apart, as one."""
    pushed = [one for one in backlogs if one.mode == PUSH]
    return Backlog(
        topic=OTHERS,
        subscriber=OTHERS,
        pending=sum(one.pending for one in backlogs),
        oldest_pending_us=min((one.oldest_pending_us for one in backlogs if one.oldest_pending_us), default=0),
        parked=sum(one.parked for one in backlogs),
        failing_since_us=max(one.failing_since_us if one.is_failing else 0 for one in backlogs),
        enabled=all(one.enabled for one in pushed),
        mode=PUSH,
        # Not if only some are: one that fails among the others would be hidden.
        paused=bool(pushed) and all(one.paused for one in pushed),
    )


def _of_volumes(figures: Figures) -> Iterator[str]:
    """Counters of what each topic has taken in."""
    volumes = list(figures.volumes())
    for name, text in (("messages", "Messages stored in the topic"), ("bytes", "Their Arrow bytes")):
        full = f"pregon_topic_{name}_total"
        yield from _family(
            full, "counter", text, (f'{full}{{topic="{topic}"}} {getattr(one, name)}' for topic, one in volumes)
        )


def _of_pushes(figures: Figures) -> Iterator[str]:
    """Counters and histograms of the pushes of each subscription."""
    yield from _family(
        "pregon_push_total", "counter", "Pushes, by how they ended",
        (
            f'pregon_push_total{{{_labels(names)},result="{result}"}} {count}'
            for names, pushes in figures.pushes()
            for result, count in pushes.results.items()
        ),
    )  # fmt: skip
    timed = list(figures.histograms())
    name = "pregon_push_seconds"
    lines = [line for names, pushes in timed for line in _of_histogram(name, _labels(names), pushes.answered)]
    yield from _family(name, "histogram", "How long subscribers took to answer a push", lines)
    name = "pregon_delivery_seconds"
    lines = [line for names, pushes in timed for line in _of_histogram(name, _labels(names), pushes.waited)]
    yield from _family(name, "histogram", "From the acceptance of a message to its delivery by push", lines)


def _of_histogram(name: str, labels: str, histogram: Histogram) -> Iterator[str]:
    count = 0
    for bound_ms, more in zip((*histogram.bounds_ms, None), histogram.counts, strict=True):
        count += more
        le = "+Inf" if bound_ms is None else f"{bound_ms / 1_000:g}"
        yield f'{name}_bucket{{{labels},le="{le}"}} {count}'
    yield f"{name}_count{{{labels}}} {count}"
    yield f"{name}_sum{{{labels}}} {histogram.sum_ms / 1_000:.6f}"
