"""The numbers of the service broker in Prometheus' format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_GAUGES = {
    "workers": "Workers that serve it and are not given up",
    "slots": "Requests that they take at once",
    "free": "Of those, free now",
    "waiting": "Requests that wait",
    "in_hand": "Requests that workers have",
}
_ENDINGS = ("answered", "failed", "refused")
_COUNTS = {
    "cancelled": "Requests that nobody waited for any more",
    "duplicates": "Requests recognised as under way already",
    "redispatched": "Requests given to another worker",
    "poisoned": "Requests set aside because worker after worker was lost with them",
    "workers_lost": "Workers given up",
    "answers_late": "Answers of workers that had been given up",
    "answers_unknown": "Answers for work that the worker did not have",
    "answers_undeliverable": "Answers whose client had gone",
    "malformed": "Messages that could not be read",
    "traces_dropped": "Requests that were not traced because the trace was behind",
}


def render_services(services: Sequence[dict[str, Any]], counts: dict[str, int]) -> bytes:
    """What there is for each service, and what the broker counts as a whole."""
    lines: list[str] = []
    labelled = [(f'service="{one["type"]}",version="{one["version"]}"', one) for one in services]
    for name, text in _GAUGES.items():
        lines += [f"# HELP pregon_service_{name} {text}", f"# TYPE pregon_service_{name} gauge"]
        lines += [f"pregon_service_{name}{{{labels}}} {one[name]}" for labels, one in labelled]
    lines += ["# HELP pregon_service_requests_total Requests, by how they ended"]
    lines += ["# TYPE pregon_service_requests_total counter"]
    lines += [
        f'pregon_service_requests_total{{{labels},result="{ending}"}} {one[ending]}'
        for labels, one in labelled
        for ending in _ENDINGS
    ]
    for name, text in _COUNTS.items():
        full = f"pregon_services_{name}_total"
        lines += [f"# HELP {full} {text}", f"# TYPE {full} counter", f"{full} {counts[name]}"]
    return ("\n".join(lines) + "\n").encode()
