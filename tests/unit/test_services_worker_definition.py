"""Functions as services: what the decorator makes of them, what it refuses, and what becomes of what they raise."""

from __future__ import annotations

import asyncio
import logging
import pickle
from typing import Any

import pytest

from pregon import Worker, service
from pregon.client.services.service import Prepared, Service
from pregon.errors import BadName, BadRequest, HubBusy, SettingsInvalid
from pregon.wire.services import Failure


@service("sqrt", version="2", slots=4)
def sqrt(x: float) -> float:
    """The root."""
    return x**0.5


@service("wait")
async def wait(x: int) -> tuple[int, str]:
    return x, "done"


def raising(error: BaseException) -> Prepared:
    @service("raises")
    def raises() -> None:
        raise error

    return Prepared(raises)


def test_a_service_is_still_the_function() -> None:
    assert sqrt(9.0) == 3.0
    assert sqrt.__doc__ == "The root."
    assert (sqrt.name, sqrt.type, sqrt.manner.slots) == ("sqrt", "sqrt@2", 4)


def test_a_service_is_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(sqrt)) is sqrt


def test_frames_go_in_and_frames_come_out() -> None:
    assert Prepared(sqrt).call([b"100"]) == [b"10.0"]


def test_a_coroutine_function_is_one_too() -> None:
    outcome = asyncio.run(Prepared(wait).call_async([b"5"]))

    assert outcome == [b"5", b"done"]


def test_what_a_function_raises_is_told_by_type_and_message_and_logged_with_its_place(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR, logger="pregon.worker"):
        outcome = raising(ValueError("too small")).call([b""])

    assert outcome == Failure(code="service_failed", message="ValueError: too small")
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), RecursionError("deep"), HubBusy("busy")])
def test_whatever_it_raises_only_its_call_fails(error: BaseException) -> None:
    outcome = raising(error).call([b""])

    assert isinstance(outcome, Failure)
    assert outcome.code == "service_failed"


def test_a_bad_request_is_the_clients_fault_and_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    wrong_argument = Prepared(sqrt).call([b"abc"])
    raised = raising(BadRequest("x is not for you")).call([b""])

    assert isinstance(wrong_argument, Failure)
    assert isinstance(raised, Failure)
    assert (wrong_argument.code, raised.code) == ("bad_request", "bad_request")
    assert "`x`" in wrong_argument.message
    assert caplog.text == ""


def test_a_message_is_bounded_and_can_travel() -> None:
    long, odd = raising(ValueError("x" * 10_000)).call([b""]), raising(ValueError("\ud800")).call([b""])

    assert isinstance(long, Failure)
    assert isinstance(odd, Failure)
    assert len(long.message) == 500
    odd.message.encode()


def test_a_result_that_cannot_be_sent_is_a_failure() -> None:
    @service("odd")
    def odd() -> object:
        return object()

    outcome = Prepared(odd).call([b""])

    assert isinstance(outcome, Failure)


def test_a_name_that_no_broker_takes_is_refused() -> None:
    for wrong in ({"name": "a b"}, {"name": "a", "version": "1@2"}):
        with pytest.raises(BadName):
            service(**wrong)(lambda: None)


@pytest.mark.parametrize(
    "manner",
    [
        {"slots": 0},
        {"slots": 1_001},
        {"time_limit_ms": 0},
        {"inline": True, "processes": True},
        {"inline": True, "time_limit_ms": 5},
    ],
)
def test_a_manner_that_cannot_be_is_refused(manner: dict[str, Any]) -> None:
    with pytest.raises(SettingsInvalid):
        service("sqrt", **manner)(lambda: None)


@pytest.mark.parametrize("manner", [{"inline": True}, {"processes": True}])
def test_a_coroutine_function_runs_on_its_loop_and_nowhere_else(manner: dict[str, Any]) -> None:
    async def function() -> None: ...

    with pytest.raises(SettingsInvalid, match="event loop"):
        service("a", **manner)(function)


def test_a_worker_is_made_of_services_each_once() -> None:
    def plain() -> None: ...

    for wrong in ((), (sqrt, sqrt), (plain,)):
        with pytest.raises(SettingsInvalid):
            Worker(*wrong, back="tcp://127.0.0.1:1")


def test_what_a_child_cannot_import_does_not_run_in_processes() -> None:
    local: Service[..., Any] = service("local", processes=True)(lambda: None)

    with pytest.raises(SettingsInvalid, match="top of a module"):
        Worker(local, back="tcp://127.0.0.1:1")
