"""Testing a subscriber's web service over HTTP."""

from __future__ import annotations

from pregon.edges.http.answers import Answer, json_answer
from pregon.edges.http.exchange import Exchange
from pregon.edges.http.forms import view
from pregon.edges.http.routes import Desk, Route
from pregon.edges.rehearsal_forms import REHEARSAL_JSON_BYTES_MAX, RehearsalIn, RehearsalOut, rehearsal_out


async def rehearse(desk: Desk, exchange: Exchange) -> Answer:
    """Send a test, and show what was sent and answered."""
    caller, wanted = desk.caller(exchange), await exchange.json(RehearsalIn, REHEARSAL_JSON_BYTES_MAX)
    ticket = desk.require_rehearsals().rehearse(caller, exchange.params["subscriber"], wanted.trial())
    # The web service may take its time; nobody else has to wait for one who has left.
    rehearsal = await exchange.unless_gone(desk.answer(ticket), desk.stopping)
    return json_answer(view(rehearsal_out(rehearsal)), headers=[(b"cache-control", b"no-store")])


ROUTES = [
    Route(
        method="POST",
        path="/v1/subscribers/{subscriber}/test",
        handler=rehearse,
        tag="catalogue",
        summary="Send a test to a subscriber's web service, and see what was sent and what it answered",
        description="As a push is sent, signed and guarded, but that no subscription and no trace knows of it. The "
        "message has the number 0 and the header `Pregon-Test: true`, in SOAP also `ps:test`. Without a body it is a "
        "small sample. Works for every subscriber with an endpoint, also in mode pull and while it is disabled. The "
        "answer is 200 however the test went: `outcome` says how.",
        body=RehearsalIn,
        answer=RehearsalOut,
        example={"content_type": "application/json", "text": '{"nombre": "Pepe"}'},
        answer_example={
            "subscriber": "bps",
            "endpoint": "https://bps.example/novedades",
            "format": "raw",
            "outcome": "refused",
            "reason": "HTTP 401 Unauthorized",
            "latency_ms": 12,
            "at": "2026-11-15T10:00:00.000000Z",
            "request": {
                "request_line": "POST /novedades HTTP/1.1",
                "headers": [
                    {"name": "Host", "value": "bps.example"},
                    {"name": "Pregon-Test", "value": "true"},
                ],
                "body_is_cut": False,
                "text": '{"nombre": "Pepe"}',
            },
            "answer": {
                "status": 401,
                "reason": "Unauthorized",
                "headers": [{"name": "Content-Length", "value": "0"}],
                "body_is_cut": False,
                "text": "",
            },
        },
    ),
]
