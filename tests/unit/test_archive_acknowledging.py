"""What is archived is acknowledged to the topic that it is of, and who is not subscribed any more is told of."""

from __future__ import annotations

from typing import Any

import pytest

from pregon.errors import NotFound
from pregon.spark.archive import acknowledging
from pregon.spark.archive.acknowledging import Acknowledger, is_gone
from pregon.spark.offsets import Ends, Place
from pregon.spark.options import read_options

MADE, MADE_AGAIN = 7, 9


class Hub:
    """Topics that are there, by when they were made; and what is sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **topics: int) -> None:
        self.topics = topics
        self.subscribed = set(topics)
        self.acks: list[tuple[str, Any]] = []
        hub = self

        class Door:
            def __init__(self, _destination: Any) -> None: ...

            def send(self, _method: str, path: str, value: Any) -> None:
                if not any(f"/topics/{topic}/" in path for topic in hub.subscribed):
                    raise NotFound("not subscribed")
                hub.acks.append((path, value))

            def close(self) -> None: ...

        class Logs:
            def __init__(self, _options: Any) -> None: ...

            def ends(self) -> dict[str, Ends]:
                return {name: Ends(since, 1, 100) for name, since in hub.topics.items()}

            def close(self) -> None: ...

        monkeypatch.setattr(acknowledging, "HubDoor", Door)
        monkeypatch.setattr(acknowledging, "Logs", Logs)


OPTIONS = read_options({"subscribePattern": ".*", "subscriber": "pregon-archive"})


def test_what_is_archived_is_acknowledged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub(monkeypatch, avisos=MADE)
    acknowledger = Acknowledger(OPTIONS)

    for _ in range(2):
        acknowledger.acknowledge({"avisos": Place(51, MADE)})

    assert hub.acks == [("/v1/topics/avisos/subscriptions/pregon-archive/ack", {"seq": 50})]


def test_what_was_of_a_topic_before_it_was_made_again_is_not_acknowledged_to_the_new_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hub = Hub(monkeypatch, avisos=MADE_AGAIN, otro=MADE)

    Acknowledger(OPTIONS).acknowledge({"avisos": Place(51, MADE), "gone": Place(9, MADE), "otro": Place(3, MADE)})

    assert hub.acks == [("/v1/topics/otro/subscriptions/pregon-archive/ack", {"seq": 2})]
    assert caplog.records == []


def test_a_subscription_that_somebody_deleted_is_told_of_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hub = Hub(monkeypatch, avisos=MADE, otro=MADE)
    hub.subscribed.remove("avisos")
    acknowledger = Acknowledger(OPTIONS)

    acknowledger.acknowledge({"avisos": Place(51, MADE), "otro": Place(3, MADE)})
    acknowledger.acknowledge({"avisos": Place(61, MADE), "otro": Place(3, MADE)})

    assert [value for _, value in hub.acks] == [{"seq": 2}]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "pregon-archive is not subscribed to avisos" in caplog.text


@pytest.mark.parametrize("topics, is_it", [({"avisos": MADE}, False), ({"avisos": MADE_AGAIN}, True), ({}, True)])
def test_a_topic_is_gone_when_it_is_not_there_or_another(
    monkeypatch: pytest.MonkeyPatch, topics: dict[str, int], is_it: bool
) -> None:
    Hub(monkeypatch, **topics)

    assert is_gone(OPTIONS, ("avisos", MADE)) is is_it
