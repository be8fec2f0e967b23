"""The OpenAPI document against the hub that serves it: schemathesis makes requests from the one and asks the other.

Every operation is tried with the document's examples, with the edges of its schemas, with random requests that fit
and that do not, and in sequences (create, use, delete, use again). All that it finds is told, each kind once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
import schemathesis.engine
from schemathesis.engine import Status, StopReason
from schemathesis.engine import events as happened

from pregon.testing import run_hub

EXAMPLES = 15
NOT_FOR_IT = ("/v1/topics/{topic}/stream", "/v1/frames")
"""A live stream has no end, and frames are no language that it writes: both have tests of their own."""
CHECKED_BY_MEANING = ("400", "412", "413", "422")
"""What may be answered to a request that fits the document: rules that no JSON Schema can say."""


def configuration(secret: str) -> Any:
    """All phases and all checks, with so many examples as a test has time for."""
    accepted = ["2xx", "401", "403", "404", "408", "409", "429", *CHECKED_BY_MEANING]
    refused = ["400", "401", "403", "404", "405", "406", "409", "412", "413", "415", "422", "429"]
    return schemathesis.Config.from_dict(
        {
            "seed": 2026,
            "workers": 1,
            "request-timeout": 10,
            "headers": {"Authorization": f"Bearer {secret}"},
            "generation": {"max-examples": EXAMPLES, "database": "none", "no-shrink": True},
            "checks": {
                "positive_data_acceptance": {"expected-statuses": accepted},
                "negative_data_rejection": {"expected-statuses": refused},
            },
        }
    )


MUST_BE_THERE = "ensure_resource_availability"
"""Takes a topic's schema for something that is made with the topic: a new topic has none."""


def wait_no_minute(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """The same request, but that it does not wait a minute for news."""
    body = case.body
    if isinstance(body, dict) and isinstance(body.get("wait_ms"), int) and 10 < body["wait_ms"] <= 60_000:
        case.body = {**body, "wait_ms": 10}
    query = case.query or {}
    if _is_long(query.get("wait_ms")):
        case.query = query = {**query, "wait_ms": 10}
    if case.operation.label == "POST /v1/services/{type}/requests" and str(query.get("durable")).lower() == "false":
        case.query = {**query, "deadline_ms": 10}


def _is_long(wait_ms: Any) -> bool:
    return str(wait_ms).isdigit() and 10 < int(wait_ms) <= 60_000


def said(events: Any) -> Iterator[str]:
    """What a run says that is wrong, and what it did not do."""
    for event in events:
        if isinstance(event, happened.ScenarioFinished):
            for case_id, checks in event.recorder.checks.items():
                for check in checks:
                    if check.status is Status.FAILURE:
                        answer = event.recorder.interactions[case_id].response
                        if answer and check.name == MUST_BE_THERE and b"has no schema" in answer.content:
                            continue
                        failure = check.failure_info.failure if check.failure_info else None
                        yield f"{event.recorder.label}: {check.name}: {failure}: {answer and answer.content[:300]!r}"
        elif isinstance(event, happened.NonFatalError):
            yield f"{event.label}: {event.info}"
        elif isinstance(event, happened.FatalError):
            yield f"it stopped: {event.exception!r}"
        elif isinstance(event, happened.EngineFinished) and event.stop_reason is not StopReason.COMPLETED:
            yield f"it stopped: {event.stop_reason}"


# How Hypothesis writes down what it tried is long, and says nothing of the hub.
@pytest.mark.filterwarnings("ignore:Generating overly large repr")
def test_schemathesis_finds_nothing() -> None:
    with run_hub() as hub:
        # With an administrator from the start: else the first token that it makes by itself would shut it out.
        made = httpx.post(f"{hub.http}/v1/tokens", json={"name": "tester", "scopes": ["admin"]}).json()
        schema = schemathesis.openapi.from_url(f"{hub.http}/v1/openapi.json", config=configuration(made["secret"]))
        schema = schema.exclude(path=list(NOT_FOR_IT))
        schemathesis.hook("before_call")(wait_no_minute)

        try:
            findings = {*said(schemathesis.engine.from_schema(schema).execute())}
        finally:
            schemathesis.hooks.unregister(wait_no_minute)
        health = httpx.get(f"{hub.http}/readyz")

    assert not findings, "\n\n".join(sorted(findings))
    assert health.status_code == 200
