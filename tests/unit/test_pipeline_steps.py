"""Which steps run, where their tables are, and what Spark's failures become."""

from __future__ import annotations

from pathlib import Path

import pytest

from pregon.errors import BadRequest, HubUnreachable, PregonError, StoreFailed, Unauthorized
from pregon.spark.pipelines.alerting import stream_folder
from pregon.spark.pipelines.failing import find_cause
from pregon.spark.pipelines.inputs import EVERYTHING_PATTERN, Place
from pregon.spark.pipelines.output_address import address_of
from pregon.spark.pipelines.status import is_local
from pregon.spark.pipelines.steps import Outcome, choose_steps

from .pipeline_figures import delivered, ordered, reconciled

ALL = ["archive", "deliveries", "service-levels", "reconciliation", "causality", "traffic"]


@pytest.mark.parametrize(
    ("names", "has_archive", "expected"),
    [
        ([], True, ALL),
        ([], False, ALL[1:]),
        (["service-levels"], False, ["deliveries", "service-levels"]),
        (["traffic", "archive", "traffic"], True, ["archive", "traffic"]),
        (["reconciliation"], True, ["reconciliation"]),
    ],
    ids=["all", "all without an archive", "what is needed too", "in order and once", "only one"],
)
def test_steps_run_in_order_with_those_that_they_need(names: list[str], has_archive: bool, expected: list[str]) -> None:
    assert choose_steps(names, has_archive=has_archive) == expected


@pytest.mark.parametrize(("name", "said"), [("reconcile", "reconciliation"), ("archive", "--archive DIR")])
def test_a_step_that_cannot_run_is_refused_with_what_to_write(name: str, said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        choose_steps([name], has_archive=False)


@pytest.mark.parametrize(
    ("figures", "is_right"),
    [
        (reconciled(), True),
        (reconciled(is_right=False), False),
        (ordered(), True),
        (ordered(is_right=False), False),
        (delivered(), True),
    ],
)
def test_a_discrepancy_or_a_violation_is_not_right(figures: object, is_right: bool) -> None:
    assert Outcome(figures, {}, []).is_right is is_right  # type: ignore[arg-type]


def test_topics_are_those_named_those_that_match_or_all_but_the_hubs_own() -> None:
    assert Place(source={}, topics=("a", "b")).chosen == {"subscribe": "a,b"}
    assert Place(source={}, pattern="g.*").chosen == {"subscribePattern": "g.*"}
    assert Place(source={}).chosen == {"subscribePattern": EVERYTHING_PATTERN}


def test_spark_is_told_that_a_folder_is_of_this_machine_by_its_name_as_it_is() -> None:
    assert address_of(Path("/srv/año 1%20#2")) == "file:///srv/año 1%20#2"
    assert address_of(Path("pipelines")) == f"file://{Path.cwd()}/pipelines"


def test_windows_of_each_length_have_a_folder_of_their_own(tmp_path: Path) -> None:
    folders = {stream_folder(tmp_path, window_s) for window_s in (1, 60, 3_600)}

    assert len(folders) == 3
    assert {folder.parent for folder in folders} == {tmp_path / "traffic-alerts"}


def test_where_a_key_may_be_is_not_shown() -> None:
    assert "secret" not in repr(Place(source={"hub": "http://hub", "key": "secret"}))


JAVA = """An error occurred while calling o123.parquet.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows.
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.taskFailedWhileWritingRowsError(QueryExecutionErrors.scala:774)
"""


@pytest.mark.parametrize(
    ("said", "expected", "text"),
    [
        (
            JAVA + 'Caused by: PythonException: Traceback (most recent call last):\n  File "x.py", line 1\n'
            "pregon.errors.rejected.Unauthorized: the key is unknown: ask for another\n\n\tat org.apache…",
            Unauthorized,
            "the key is unknown: ask for another",
        ),
        (
            "[PYTHON_DATA_SOURCE_ERROR] failed: pregon.errors.unavailable.HubUnreachable: no answer from http://hub",
            HubUnreachable,
            "no answer from http://hub",
        ),
        (JAVA + "Caused by: java.io.IOException: No space left on device", StoreFailed, "spark.local.dir"),
        (
            JAVA + "Caused by: java.lang.OutOfMemoryError: Java heap space\n\tat java.base/java.util",
            PregonError,
            "[TASK_WRITE_FAILED] Task failed while writing rows. / Java heap space (--verbose",
        ),
        ("pregon.errors.nonsense.Nonsense: hm\nand more", PregonError, "Spark failed: hm ("),
        ("", PregonError, "did not say why"),
    ],
    ids=[
        "ours in a task",
        "ours in the driver",
        "a full disk",
        "one of Java's",
        "a name that is none of ours",
        "nothing",
    ],
)
def test_what_spark_says_becomes_our_error_again(said: str, expected: type[PregonError], text: str) -> None:
    found = find_cause(said)

    assert type(found) is expected
    assert text in str(found)
    assert "\n" not in str(found)
    assert "at org.apache" not in str(found)


@pytest.mark.parametrize(
    ("archive", "expected"),
    [("/srv/archive", True), ("archive", True), ("file:///srv/archive", True), ("hdfs://name/archive", False)],
)
def test_an_archive_on_this_machine_is_known_by_its_address(archive: str, expected: bool) -> None:
    assert is_local(archive) is expected
