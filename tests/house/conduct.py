"""Rules of conduct: what the code of the package does not do.

Promises: pure, one `Source` in, sentences out. They read the tree, not the text, so that a word in a
docstring breaks nothing; only unfinished work is looked for in the text, since it lives in comments.
"""

import ast
import re
from collections.abc import Iterator

from .tree import Source

MAY_READ_THE_WALL_CLOCK = ("src/pregon/clock.py", "src/pregon/bench/")
MAY_PRINT = ("src/pregon/cli/", "src/pregon/bench/")

_WALL_CLOCK = re.compile(r"(^|\.)(time\.time(_ns)?|datetime\.(now|utcnow|today))$")
_UNFINISHED = re.compile(r"\b(TODO|FIXME)\b")
_DIRECTIVE = re.compile(r"noqa(:\s*[A-Z]+\d+(,\s*[A-Z]+\d+)*)?|type:\s*ignore(\[[^]]*])?|pragma:\s*no cover")
_BROAD = {"Exception", "BaseException"}
_REASON_WORDS_MIN = 3


def wall_clock_reads(source: Source) -> list[str]:
    """Time is asked of `clock`: the wall clock jumps, and a test cannot move it."""
    if source.name.startswith(MAY_READ_THE_WALL_CLOCK):
        return []
    found = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and _WALL_CLOCK.search(ast.unparse(node)):
            found.append(f"{source.at(node)}: {ast.unparse(node)} outside clock.py")
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            names = {alias.name for alias in node.names} & {"time", "time_ns"}
            found += [f"{source.at(node)}: time.{name} outside clock.py" for name in sorted(names)]
    return found


def bare_excepts(source: Source) -> list[str]:
    """Nothing is caught without a name: a bare `except:` also catches the wish to stop."""
    return [f"{source.at(handler)}: bare except" for handler in _handlers(source) if handler.type is None]


def unexplained_catches(source: Source) -> list[str]:
    """A broad catch says why, beside it or on the line above."""
    lines = source.text.splitlines()
    found = []
    for handler in _handlers(source):
        caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        names = {ast.unparse(kind).removeprefix("builtins.") for kind in caught if kind} & _BROAD
        above = lines[handler.lineno - 2].strip()
        beside = lines[handler.lineno - 1].partition("#")[2]
        if names and not _is_reason(beside) and not (above.startswith("#") and _is_reason(above)):
            found.append(f"{source.at(handler)}: except {', '.join(sorted(names))} without a comment that says why")
    return found


def prints(source: Source) -> list[str]:
    """Only the command line and the bench speak on the terminal; the rest logs."""
    if source.name.startswith(MAY_PRINT):
        return []
    return [
        f"{source.at(node)}: print outside cli/ and bench/"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]


def unfinished_work(source: Source) -> list[str]:
    """What is left to do is an issue, not a comment."""
    return [
        f"{source.name}:{number}: {mark.group()}"
        for number, line in enumerate(source.text.splitlines(), start=1)
        if (mark := _UNFINISHED.search(line))
    ]


def orphan_raises(source: Source) -> list[str]:
    """An error raised while handling another names its cause: `raise ... from`."""
    return [f"{source.at(node)}: raise without from, inside except" for node in _orphans(source.tree, handling=False)]


def _orphans(node: ast.AST, *, handling: bool) -> Iterator[ast.Raise]:
    if isinstance(node, ast.Raise) and handling and node.exc is not None and node.cause is None:
        yield node
    # A function defined inside a handler runs later, when nothing is being handled.
    starts_anew = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for child in ast.iter_child_nodes(node):
        yield from _orphans(child, handling=(handling and not starts_anew) or isinstance(node, ast.ExceptHandler))


def _handlers(source: Source) -> list[ast.ExceptHandler]:
    return [node for node in ast.walk(source.tree) if isinstance(node, ast.ExceptHandler)]


def _is_reason(comment: str) -> bool:
    """Whether a comment has words for people besides those for tools."""
    words = re.findall(r"\w+", _DIRECTIVE.sub("", comment))
    return len(words) >= _REASON_WORDS_MIN
