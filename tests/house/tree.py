"""The files the rules read, and how a rule is applied to them.

A rule takes one `Source` and returns its violations as sentences. Only this module touches the disk, so
every rule can be tried on a snippet.
"""

import ast
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "src/pregon"
EVERYWHERE = (PACKAGE, "src/pyspark_pregon", "tests", "examples")


@dataclass(frozen=True)
class Source:
    """A Python file: its name from the root of the repository, and its text."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed text. A file that does not parse fails here, which is its own message."""
        return ast.parse(self.text, filename=self.name)

    @property
    def path(self) -> PurePosixPath:
        """The name as a path."""
        return PurePosixPath(self.name)

    def at(self, node: ast.stmt | ast.expr | ast.excepthandler) -> str:
        """Where a node stands, as editors and terminals open it."""
        return f"{self.name}:{node.lineno}"


Rule = Callable[[Source], list[str]]


@lru_cache
def sources(folder: str) -> tuple[Source, ...]:
    """Every Python file under a folder of the repository, in the order of their names."""
    paths = sorted((ROOT / folder).rglob("*.py"))
    names = [path.relative_to(ROOT).as_posix() for path in paths]
    return tuple(Source(name, read(name)) for name in names)


def violations(rule: Rule, *folders: str) -> list[str]:
    """What a rule finds in these folders."""
    return [found for folder in folders for source in sources(folder) for found in rule(source)]


def listed(found: list[str]) -> str:
    """Violations one per line, for the message of an assertion."""
    return "\n".join(["", *found])


def read(name: str) -> str:
    """The text of a file, or a failure that names it."""
    return (ROOT / name).read_text(encoding="utf-8")


@lru_cache
def kept_files() -> tuple[str, ...]:
    """Files that git tracks or would track: what is ignored is no part of the repository."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    names = sorted(set(answer.stdout.split("\0")) - {""})
    return tuple(name for name in names if (ROOT / name).is_file())
