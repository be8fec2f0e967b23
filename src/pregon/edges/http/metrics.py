"""The hub's numbers in Prometheus' format, read when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from pregon.hub.hub import Hub

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
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def collect(self) -> Iterator[Metric]:
        """Every number of now."""
        for name, text in _COUNTERS.items():
            yield CounterMetricFamily(f"pregon_{name}", text, value=getattr(self._hub.counters, name))
        yield CounterMetricFamily("pregon_commits", "Transactions on disk", value=self._hub.committer.commits)
        yield GaugeMetricFamily("pregon_commit_queue", "Operations waiting", value=self._hub.committer.queued)
        yield GaugeMetricFamily("pregon_pulls_waiting", "Pulls waiting for news", value=self._hub.waiting.count)


def render_metrics(hub: Hub) -> bytes:
    """All of it as text."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_HubCollector(hub))
    return generate_latest(registry)
