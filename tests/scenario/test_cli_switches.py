"""`--enable`, `--disable`, `pause` and `resume` on the command line; and what the doctor says of what is paused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pregon.testing import Receiver, Reply

from .command_line import Said, run
from .hub_process import HubProcess, end, wait_until


@pytest.fixture(scope="module")
def module_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    hub = HubProcess(tmp_path_factory.mktemp("hub") / "data", push_allow="127.0.0.1").start()
    yield hub
    end(hub)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def ask(hub: HubProcess, *arguments: str) -> dict[str, Any]:
    """The one JSON value that a command must answer with."""
    said = run(*arguments, "--json", hub=hub.url)
    assert said.status == 0, said.err
    return said.row


def publish(hub: HubProcess, topic: str, producer: str = "dgrec") -> Said:
    """What is said when a message is published."""
    return run("publish", topic, "x", "--producer", producer, "--json", hub=hub.url)


def test_a_topic_is_disabled_and_enabled(hub: HubProcess, topic: str) -> None:
    made = ask(hub, "topic", "create", topic, "--disable")

    refused = publish(hub, topic)
    named = ask(hub, "topic", "update", topic, "--description", "Defunciones")
    on = ask(hub, "topic", "update", topic, "--enable")
    taken = publish(hub, topic)
    off = ask(hub, "topic", "update", topic, "--disable")
    plain = ask(hub, "topic", "create", f"{topic}-2")

    assert [one["enabled"] for one in (made, named, on, off, plain)] == [False, False, True, False, True]
    assert (refused.status, refused.error["code"]) == (2, "disabled")
    assert f"`pregon topic update {topic} --enable`" in refused.error["message"]
    assert taken.row["seq"] == 1


def test_a_producer_is_disabled_and_enabled(hub: HubProcess, topic: str) -> None:
    made = ask(hub, "producer", "create", topic, "--disable")

    refused = publish(hub, topic, topic)
    on = ask(hub, "producer", "update", topic, "--enable")
    taken = publish(hub, topic, topic)
    off = ask(hub, "producer", "update", topic, "--disable")
    plain = ask(hub, "producer", "create", f"{topic}-2")

    assert [one["enabled"] for one in (made, on, off, plain)] == [False, True, False, True]
    assert (refused.status, refused.error["code"]) == (2, "disabled")
    assert taken.row["seq"] == 1


def test_a_subscription_is_paused_and_resumed(hub: HubProcess, receiver: Receiver, topic: str) -> None:
    ask(hub, "subscriber", "create", topic, "--mode", "push", "--endpoint", receiver.url)
    ask(hub, "subscription", "create", topic, topic)

    english = run("subscription", "pause", topic, topic, hub=hub.url)
    again = ask(hub, "subscription", "pause", topic, topic)
    publish(hub, topic)
    waiting = ask(hub, "subscription", "show", topic, topic)
    state = ask(hub, "subscription", "push", topic, topic)
    listed = run("subscription", "list", "--subscriber", topic, hub=hub.url, COLUMNS="250").out
    before = list(receiver.received)
    spanish = run("subscription", "resume", topic, topic, hub=hub.url, LANG="es_UY.UTF-8")
    receiver.wait_for(1)
    resumed = ask(hub, "subscription", "resume", topic, topic)

    assert english.out == f"{topic} {topic} paused: what comes waits, and can be pulled\n"
    assert spanish.out == f"{topic} {topic} reanudada: lo que espera se envía ahora\n"
    assert (again["paused"], waiting["paused"], waiting["pending"], state["paused"]) == (True, True, 1, True)
    assert (before, resumed["paused"]) == ([], False)
    assert "paused" in listed.splitlines()[0]


def test_what_is_not_there_is_neither_paused_nor_resumed(hub: HubProcess, topic: str) -> None:
    answers = [run("subscription", verb, topic, "nobody", "--json", hub=hub.url) for verb in ("pause", "resume")]

    assert [(one.status, one.error["code"]) for one in answers] == [(3, "not_found")] * 2


def test_the_doctor_does_not_take_what_is_paused_for_failing(hub: HubProcess, receiver: Receiver, topic: str) -> None:
    receiver.reply = Reply(503)
    ask(hub, "subscriber", "create", topic, "--mode", "push", "--endpoint", receiver.url)
    ask(hub, "subscription", "create", topic, topic)
    publish(hub, topic)
    wait_until(lambda: ask(hub, "subscription", "push", topic, topic)["failing_since_us"], "a push fails")
    failing = run("doctor", hub=hub.url).out

    ask(hub, "subscription", "pause", topic, topic)
    paused = run("doctor", hub=hub.url).out

    assert f"{topic} {topic} (" in failing.replace("\n", " ")
    assert f"{topic} {topic} (" not in paused.replace("\n", " ")
