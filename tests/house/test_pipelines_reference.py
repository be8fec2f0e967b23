"""The reference of the pipelines names every step, every field of its results, and every bound, as they are.

The columns of the steps are compared with real DataFrames in tests/spark, which has a session.
"""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, get_args

import msgspec
import pytest

from pregon.model.pipeline_figures import FIGURES_OF, STEPS, TEXT_MAX
from pregon.model.pipeline_results import Made, Source
from pregon.spark.pipelines.alerts import AlertRules
from pregon.spark.pipelines.service_levels import ACCEPTABLE_MS_MAX, PREFERRED_MS_MAX
from pregon.spark.pipelines.streaming import Progress

from .step_tables import columns_of, fields_of
from .tree import read

REFERENCE = "docs/reference/pipelines.md"


def structs_in(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """The structs that a type is made of."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
    for inner in get_args(kind):
        yield from structs_in(inner)


def fields_and_bounds(figures: type[msgspec.Struct]) -> tuple[set[str], set[int]]:
    """Every field of figures and of what their lists hold, and how long these lists may be."""
    names, bounds = set(), set()
    for field in msgspec.structs.fields(figures):
        names.add(field.encode_name)
        bounds |= {one.max_length for one in getattr(field.type, "__metadata__", ()) if one.max_length}
        for struct in structs_in(field.type):
            names |= {one.encode_name for one in msgspec.structs.fields(struct)}
    return names, bounds


@pytest.mark.parametrize("step", STEPS)
def test_every_field_of_the_figures_is_documented_and_no_other(step: str) -> None:
    names, _ = fields_and_bounds(FIGURES_OF[step])

    told = fields_of(read(REFERENCE), step)

    assert names <= told
    # A word that is set apart and no field says which values or tables there are.
    assert told - names <= {"parts_sum", "expired_or_cancelled"}


def test_the_bounds_of_the_lists_are_told() -> None:
    table = read(REFERENCE).partition("### figures.json")[2].partition("\n## ")[0]
    bounds = {one for figures in FIGURES_OF.values() for one in fields_and_bounds(figures)[1]}
    # Results of deliveries are six: that their list could have more is nobody's business.
    bounds -= {100, TEXT_MAX}

    missing = [bound for bound in bounds if f"({bound:,})" not in table]

    assert len(bounds) >= 5
    assert missing == []
    assert f"longer than {TEXT_MAX:,} characters" in table


@pytest.mark.parametrize("struct", [Made, Source, Progress])
def test_what_the_files_beside_the_figures_say_is_documented(struct: type[msgspec.Struct]) -> None:
    results = read(REFERENCE).partition("## Results")[2].partition("### figures.json")[0]

    missing = [field.encode_name for field in msgspec.structs.fields(struct) if f"`{field.encode_name}`" not in results]

    assert missing == []


def test_every_rule_of_alerts_is_documented_with_its_default() -> None:
    text = read(REFERENCE)

    missing = [
        rule.name
        for rule in fields(AlertRules)
        if f"| `{rule.name}` | {rule.default} |" not in text and f"| `{rule.name}` | `{rule.default}` |" not in text
    ]

    assert missing == []


def test_the_bounds_of_the_classes_of_service_are_told() -> None:
    text = read(REFERENCE)

    assert f"| `preferred` | up to {PREFERRED_MS_MAX:,} |" in text
    assert f"| `acceptable` | up to {ACCEPTABLE_MS_MAX:,} |" in text


def test_a_row_has_one_type_for_all_its_columns_or_one_for_each() -> None:
    head = "### made(rows)\n\n| column | type | |\n|---|---|---|\n"

    each = columns_of(head + "| `a`, `b` | STRING, INT | of |\n| `c`, `d` | BIGINT | |\n\nMore `words`.", "made")

    assert each == [("a", "STRING"), ("b", "INT"), ("c", "BIGINT"), ("d", "BIGINT")]
    with pytest.raises(ValueError, match="3 columns have 2 types"):
        columns_of(head + "| `a`, `b`, `c` | STRING, INT | |", "made")
