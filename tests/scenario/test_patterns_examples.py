"""The examples of patterns run, show what the page says that they show, and say what the table says."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pregon.patterns import PATTERNS, Pattern

from .hub_process import clean_environment

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/how-to/use-zeromq-patterns.md"
EXAMPLES = sorted(path.name for path in (ROOT / "examples/patterns").glob("*.py"))
_SHOWN = re.compile(r"^```\n\$ \.venv/bin/python examples/patterns/(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown_outputs() -> dict[str, str]:
    """What each example shows, as the page has it."""
    return dict(_SHOWN.findall(PAGE.read_text(encoding="utf-8")))


def flat(text: str) -> str:
    """A text without its line breaks."""
    return " ".join(text.split())


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_shows_what_the_page_says(example: str) -> None:
    said = shown_outputs().get(example)

    ended = subprocess.run(
        [sys.executable, "-W", "error", f"examples/patterns/{example}"],
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == said


def test_the_page_shows_every_example_and_no_other() -> None:
    shown = shown_outputs()

    of_the_table = {pattern.example for pattern in PATTERNS}

    assert sorted(shown) == EXAMPLES
    assert set(EXAMPLES) - of_the_table == {"transports.py"}
    assert of_the_table <= set(EXAMPLES)


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.example)
def test_the_page_and_the_example_say_of_a_pattern_what_the_table_says(pattern: Pattern) -> None:
    page = PAGE.read_text(encoding="utf-8")
    source = (ROOT / "examples/patterns" / pattern.example).read_text(encoding="utf-8")

    section = flat(page.partition(f"\n### {pattern.name}\n")[2].partition("\n### ")[0])
    opening = flat(ast.get_docstring(ast.parse(source)) or "")

    for sentence in (*pattern.guarantees, *pattern.traps):
        assert sentence in section
        assert sentence in opening
    assert pattern.purpose in section
