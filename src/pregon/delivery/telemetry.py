"""OpenTelemetry, where it is switched on: a span for each message that was accepted, one for each attempt to push it.

Only messages that carry a `traceparent` whose trace is recorded get spans: who publishes decides, by its own sampling.
The span of an attempt is the parent that the subscriber is told, so that its own spans continue the same trace:

    the producer's span ── pregon accept fallecidos
                        └─ pregon push bps ── the subscriber's spans

What is sent to the collector, and when, is left to OpenTelemetry's own batch processor, which is bounded and never
waits. Imported only when `otel_endpoint` is set: it is an extra (`pip install pregon[otel]`).

Promises:
- Neither a publication nor a push ever waits for a collector, or fails because of one.
- What cannot be looked at in time is not shown, and counted in `dropped`.
"""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from pregon.delivery.outcome import DELIVERED, Outcome
from pregon.errors import SettingsInvalid
from pregon.model.message import Message
from pregon.store.transaction import Accepted
from pregon.version import __version__

try:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace import SpanKind, Status, StatusCode
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError as error:
    raise SettingsInvalid("otel_endpoint needs OpenTelemetry: pip install 'pregon[otel]'") from error

_BATCHES_MAX = 200
"""Accepted batches waiting to be looked at."""
_STOP_MS = 500
_RECORDED = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f][13579bdf](-.*)?", re.ASCII)
_propagator = TraceContextTextMapPropagator()


def find_context(headers: Mapping[str, str]) -> dict[str, str] | None:
    """The trace context that a message carries, if its trace is recorded."""
    parent = headers.get("traceparent") or headers.get("ce-traceparent")
    if parent is None or not _RECORDED.fullmatch(parent):
        return None
    state = headers.get("tracestate") or headers.get("ce-tracestate")
    return {"traceparent": parent, "tracestate": state} if state else {"traceparent": parent}


class PushSpan:
    """The span of one attempt, and what the subscriber is told of it."""

    __slots__ = ("_span", "traceparent")

    def __init__(self, span: Any) -> None:
        self._span = span
        own = span.get_span_context()
        self.traceparent = f"00-{own.trace_id:032x}-{own.span_id:016x}-{own.trace_flags:02x}"

    def end(self, outcome: Outcome | None) -> None:
        """The attempt is over, or was given up."""
        if outcome is not None:
            if outcome.status:
                self._span.set_attribute("http.response.status_code", outcome.status)
            if outcome.kind != DELIVERED:
                self._span.set_status(Status(StatusCode.ERROR, outcome.reason))
        self._span.end()


class Telemetry:
    """Sends spans to a collector."""

    def __init__(self, endpoint: str) -> None:
        resource = Resource.create({"service.name": "pregon", "service.version": __version__})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=5)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("pregon", __version__)
        self._batches: queue.Queue[Sequence[Accepted] | None] = queue.Queue(_BATCHES_MAX)
        self._thread = threading.Thread(target=self._run, name="pregon-telemetry", daemon=True)
        self.dropped = 0

    def start(self) -> None:
        """Begin to look at what is accepted."""
        self._thread.start()

    def stop(self) -> None:
        """Send what there is, for a moment, and end."""
        if self._thread.is_alive():
            self._batches.put(None)
            self._thread.join()
        self._provider.force_flush(_STOP_MS)
        # Its own end waits for a collector that may not be there: nobody waits for that.
        threading.Thread(target=self._provider.shutdown, name="pregon-telemetry-end", daemon=True).start()

    def accepted(self, batches: Sequence[Accepted]) -> None:
        """Called by the committer: these are on disk."""
        try:
            self._batches.put_nowait(batches)
        except queue.Full:
            self.dropped += len(batches)

    def _run(self) -> None:
        while (batches := self._batches.get()) is not None:
            for one in batches:
                for message in one.batch.messages(one.topic):
                    self._show_accepted(message)

    def _show_accepted(self, message: Message) -> None:
        context = find_context(message.headers)
        if context is None:
            return
        at_ns = message.accepted_us * 1_000
        span = self._tracer.start_span(
            f"pregon accept {message.topic}",
            _propagator.extract(context),
            SpanKind.CONSUMER,
            {**_attributes(message), "messaging.operation.type": "receive"},
            start_time=at_ns,
        )
        span.end(at_ns)

    def begin_push(self, subscriber: str, message: Message, attempt: int) -> PushSpan | None:
        """The span of an attempt that sets out; None for a message whose trace is not recorded."""
        context = find_context(message.headers)
        if context is None:
            return None
        span = self._tracer.start_span(
            f"pregon push {subscriber}",
            _propagator.extract(context),
            SpanKind.PRODUCER,
            {
                **_attributes(message),
                "messaging.operation.type": "send",
                "messaging.destination.subscription.name": subscriber,
                "pregon.attempt": attempt,
            },
        )
        return PushSpan(span)


def _attributes(message: Message) -> dict[str, str | int]:
    return {
        "messaging.system": "pregon",
        "messaging.destination.name": message.topic,
        "messaging.message.id": message.id,
        "pregon.sequence": message.seq,
        "pregon.producer": message.producer,
    }
