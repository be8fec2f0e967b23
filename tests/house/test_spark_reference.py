"""The reference of `format("pregon")` has every option, table and column, as they are."""

from pathlib import Path

import pytest

from pregon.spark.options import NAMES
from pregon.spark.schemas import COLUMNS

REFERENCE = Path(__file__).parents[2] / "docs/reference/spark.md"


def test_every_option_is_documented() -> None:
    text = REFERENCE.read_text(encoding="utf-8")

    missing = [name for name in NAMES if f"`{name}`" not in text]

    assert missing == []


@pytest.mark.parametrize("table", COLUMNS)
def test_every_column_is_documented_with_its_type(table: str) -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    columns = " ".join(COLUMNS[table].split()).replace("MAP<STRING, STRING>", "MAP")

    row = next(line for line in text.splitlines() if line.startswith(f"| `{table}` | `"))

    for name, kind in (column.split() for column in columns.split(", ")):
        assert f"`{name}` {kind}" in row, name
