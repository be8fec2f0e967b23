"""Which rows a query is given that names its numbers: all of them, or an error; and whose they are."""

from __future__ import annotations

from typing import Any

import pytest

from pregon.errors import DataLost, NotFound
from pregon.spark import stream_reader
from pregon.spark.batch_reader import planned_span
from pregon.spark.logs import Logs
from pregon.spark.offsets import Ends, Place, Span
from pregon.spark.options import read_options

SINCE = 7
GONE = {
    "a part": ('{"t": 5}', '{"t": 31}', "5 to 19 of t are there no more: it begins at 20"),
    "all of it": ('{"t": 5}', '{"t": 11}', "5 to 10 of t are there no more: it begins at 20"),
    "what is to come": ('{"t": 25}', '{"t": 51}', "41 to 50 of t are not there: it ends at 40"),
    "another topic": ('{"t": {"next": 25, "since": 6}}', '{"t": 31}', "t was deleted and made again"),
}


def plan(first: str, end: str, **more: str) -> Span:
    options = read_options({"subscribe": "t", "startingoffsets": first, "endingoffsets": end, **more})
    return planned_span(options, Logs(options), "t", Ends(SINCE, 20, 40))


@pytest.mark.parametrize("case", GONE)
def test_a_range_that_is_not_all_there_is_an_error_or_what_there_is(case: str) -> None:
    first, end, wanted = GONE[case]

    with pytest.raises(DataLost, match=wanted):
        plan(first, end)

    left = plan(first, end, failondataloss="false")
    assert all(20 <= seq <= 40 for seq in range(left.first, left.last + 1))
    assert (left.rows > 0) == (case in ("a part", "what is to come"))


def test_a_range_that_is_all_there_is_as_it_was_asked_for() -> None:
    span = plan('{"t": {"next": 20, "since": 7}}', '{"t": 41}')
    none = plan('{"t": 5}', '{"t": 5}')

    assert (span.first, span.last) == (20, 40)
    assert none.rows <= 0


class Hub:
    """What a driver asks of a hub: a topic that was made again, and what is done to it."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, Any]] = []

    def __call__(self, *_destination: object) -> Hub:
        return self

    def close(self) -> None: ...

    def ends(self) -> dict[str, Ends]:
        return {"t": Ends(SINCE, 1, 5_000)}

    def document(self, path: str) -> Any:
        raise NotFound(path)

    def send(self, method: str, path: str, value: Any) -> None:
        self.sent.append((method, path, value))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Hub:
    hub = Hub()
    monkeypatch.setattr(stream_reader, "HubDoor", hub)
    monkeypatch.setattr(stream_reader, "Logs", hub)
    return hub


def test_what_was_read_of_the_old_topic_is_not_acknowledged_of_the_new_one(asked: Hub) -> None:
    driver = stream_reader._Driver(read_options({"subscribepattern": "t", "subscriber": "lector"}))
    before = {"t": Place(1_001, 1)}

    after = driver.latest(before, None)
    driver.commit(before)
    acknowledged = [path for _, path, _ in asked.sent if path.endswith("/ack")]
    driver.commit(after)

    assert after == {"t": Place(5_001, SINCE, 1)}
    assert not acknowledged
    assert asked.sent[-1] == ("POST", "/v1/topics/t/subscriptions/lector/ack", {"seq": 5_000})


def test_a_topic_that_was_made_again_stops_who_named_it_and_not_who_has_a_pattern(asked: Hub) -> None:
    before = {"t": Place(1_001, 1)}

    with pytest.raises(DataLost, match="t was deleted and made again"):
        stream_reader._Driver(read_options({"subscribe": "t"})).latest(before, None)

    assert stream_reader._Driver(read_options({"subscribepattern": "t"})).latest(before, None)["t"].first == 1


def test_a_query_that_goes_on_subscribes_again_from_where_it_was(asked: Hub) -> None:
    driver = stream_reader._Driver(read_options({"subscribe": "t", "subscriber": "lector"}))

    driver.latest({"t": Place(1_001, SINCE)}, 10)
    driver.latest({"t": Place(1_011, SINCE)}, 10)

    made = [value for _, path, value in asked.sent if path == "/v1/topics/t/subscriptions"]
    assert made == [{"subscriber": "lector", "start": "1001"}]


def test_a_topic_that_a_pattern_does_not_find_for_a_while_is_not_read_again(asked: Hub) -> None:
    driver = stream_reader._Driver(read_options({"subscribepattern": ".*"}))
    before = {"t": Place(5_001, SINCE), "hidden": Place(18, 3)}

    after = driver.latest(before, None)

    assert after == before
