"""The options of `format("pregon")`: what they mean, and what is refused."""

from __future__ import annotations

import pytest

from pregon.errors import BadName, SettingsInvalid
from pregon.spark.options import NAMES, read_options, require_topics


def test_names_are_found_whatever_their_case() -> None:
    options = read_options(
        {
            "SUBSCRIBE": "a, b,a",
            "startingoffsets": '{"a": 3, "b": -1}',
            "MAXOFFSETSPERTRIGGER": "7",
            "failOnDataLoss": "False",
        }
    )

    assert options.topics == ("a", "b")
    assert [options.offsets_of(topic, options.starting or "") for topic in ("a", "b")] == [3, "latest"]
    assert (options.rows_per_trigger_max, options.fails_on_data_loss) == (7, False)


def test_a_path_is_a_topic_and_offsets_of_the_kafka_connector_are_understood() -> None:
    options = read_options({"path": "fallecidos", "startingOffsets": '{"fallecidos": {"0": 23}}'})

    assert options.topics == ("fallecidos",)
    assert options.offsets_of("fallecidos", options.starting or "") == 23


def test_times_are_milliseconds_or_have_a_zone() -> None:
    options = read_options(
        {"subscribe": "a", "startingTimestamp": "1000", "endingTimestamp": "1970-01-01T00:00:02+00:00"}
    )

    assert (options.starting_us, options.ending_us) == (1_000_000, 2_000_000)


WRONG = {
    "columns": ("body,cuerpo", SettingsInvalid),
    "subscribe": ("a,,/b", BadName),
    "subscribePattern": ("(", SettingsInvalid),
    "startingOffsets": ('{"a": 0}', SettingsInvalid),
    "endingOffsets": ("earliest", SettingsInvalid),
    "startingTimestamp": ("2026-11-16 10:00", SettingsInvalid),
    "endingTimestamp": ("tomorrow", SettingsInvalid),
    "maxOffsetsPerTrigger": ("0", SettingsInvalid),
    "minPartitions": ("many", SettingsInvalid),
    "failOnDataLoss": ("no", SettingsInvalid),
    "timeoutMs": ("1", SettingsInvalid),
    "hub": ("127.0.0.1:5580", SettingsInvalid),
    "key": ("with space", SettingsInvalid),
    "ca": ("nowhere.pem", SettingsInvalid),
    "certificate": ("nowhere.pem", SettingsInvalid),
    "table": ("trace", SettingsInvalid),
    "subscriber": ("a b", BadName),
    "mark": ("", BadName),
    "topic": ("a/b", BadName),
    "producer": (" ", BadName),
    "contentType": ("text/plain\r\nx: y", SettingsInvalid),
    "idempotence": ("always", SettingsInvalid),
    "session": ("a b", BadName),
}


def test_every_option_has_something_wrong_to_be_refused() -> None:
    assert set(WRONG) == set(NAMES)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_refused_and_says_what_to_write(name: str) -> None:
    value, error = WRONG[name]

    with pytest.raises(error) as caught:
        read_options({name.lower(): value})

    assert any(word in str(caught.value) for word in ("write", "use", "name", "copy", "for the address"))
    assert name != "key" or value not in str(caught.value)


@pytest.mark.parametrize(
    "together",
    [
        {"subscribe": "a", "subscribePattern": "b"},
        {"subscribe": "a", "table": "traces"},
        {"subscribe": "a", "startingOffsets": "latest", "startingTimestamp": "5"},
        {"subscribePattern": "a", "startingOffsets": '{"a": 1}'},
        {"subscribe": "a", "starting": "latest"},
    ],
)
def test_options_that_do_not_go_together_are_refused(together: dict[str, str]) -> None:
    with pytest.raises(SettingsInvalid):
        read_options(together)


def test_the_environment_says_which_hub_and_never_the_fast_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREGON_HUB", "tcp://10.0.0.1:5570")
    monkeypatch.setenv("PREGON_KEY", "of-the-environment")
    fast = read_options({})
    monkeypatch.setenv("PREGON_HUB", "https://hub.example/")
    named = read_options({})

    assert (fast.hub, named.hub) == ("http://127.0.0.1:5580", "https://hub.example")
    assert fast.destination().key == "of-the-environment"
    assert "of-the-environment" not in repr(fast)


def test_without_topics_nothing_is_read() -> None:
    with pytest.raises(SettingsInvalid, match="say which topics"):
        require_topics(read_options({}))
    require_topics(read_options({"table": "traces"}))
