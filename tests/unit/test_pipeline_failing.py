"""What a stream does with a batch fails with a sentence, unless it is being stopped."""

from __future__ import annotations

import traceback

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from pregon.errors import DataLost
from pregon.spark.pipelines.failing import batch_errors_as_ours


def test_what_fails_in_a_batch_is_told_without_its_page_of_java() -> None:
    page = "\tat java.base/java.util.regex.Pattern.match\n" * 100
    said = f"An error occurred while calling o7.save.\npregon.errors.rejected.DataLost: 1 to 5 of t are gone\n{page}"

    with pytest.raises(DataLost, match=r"^1 to 5 of t are gone$") as caught, batch_errors_as_ours():
        raise Py4JError(said)

    assert "java.base" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("kind", ["lang.InterruptedException", "nio.channels.ClosedByInterruptException"])
def test_a_query_that_is_being_stopped_is_left_to_spark(kind: str) -> None:
    stopped = Py4JError(f"An error occurred while calling o7.save.\n: java.{kind}: sleep interrupted")

    with pytest.raises(Py4JError) as caught, batch_errors_as_ours():
        raise stopped

    assert caught.value is stopped
