"""What the reference of the pipelines says of each step: its columns in order, and the fields of its figures.

Promises: pure, the text of the document in, names and types out; a table that cannot be read raises ValueError.
"""

import re
from collections.abc import Iterator

_STEP = re.compile(r"^### (\w+)\(", re.MULTILINE)
_QUOTED = re.compile(r"`([^`]+)`")
_HEAD = "| column | type | |"


def columns_of(document: str, step: str) -> list[tuple[str, str]]:
    """The columns of the table under the heading of a step, with their types."""
    sections = _STEP.split(document)
    text = dict(zip(sections[1::2], sections[2::2], strict=True))[step]
    rows = text.partition(_HEAD)[2].strip().split("\n\n")[0].splitlines()[1:]
    return [pair for row in rows for pair in _columns_of_row(row)]


def _columns_of_row(row: str) -> Iterator[tuple[str, str]]:
    """A row names several columns with one type for all of them, or with one for each."""
    _, names, types, *_ = (cell.strip() for cell in row.split("|"))
    columns, kinds = _QUOTED.findall(names), types.split(", ")
    if not columns or len(kinds) not in (1, len(columns)):
        raise ValueError(f"{row}: {len(columns)} columns have {len(kinds)} types")
    yield from zip(columns, kinds * len(columns) if len(kinds) == 1 else kinds, strict=True)


def fields_of(document: str, step: str) -> set[str]:
    """The names that the table of `figures.json` sets apart for a step."""
    rows = document.partition("### figures.json")[2].partition("\n## ")[0]
    found: set[str] = set()
    current = ""
    for row in rows.splitlines():
        cells = row.split(" | ")
        if not row.startswith("|") or len(cells) < 3:
            continue
        current = "".join(_QUOTED.findall(cells[0])) or current
        if current == step:
            found.update(_QUOTED.findall(" ".join(cells[1:])))
    return found
