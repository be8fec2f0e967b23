"""Rules of the repository itself: what a stranger finds after cloning it.

Promises: pure, the text of a file in, sentences out.
"""

import re
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import PurePosixPath

# In two pieces, so that this line is not one of those it finds.
_WORKPLACE = re.compile(r"(^|[^.A-Za-z0-9_])/" + r"(work|farm)/")
_ADDRESS = re.compile(r"https?://")
_LOCKS = ("requirements*.txt", "*.lock")


def workplace_paths(name: str, text: str) -> list[str]:
    """Lines that name a folder of the machine where the project was made."""
    return [f"{name}:{number}: {line.strip()[:80]}" for number, line in _numbered(text) if _WORKPLACE.search(line)]


def addresses_in_lock(name: str, text: str) -> list[str]:
    """Lines of a lock file that say where to fetch from: that is the choice of whoever installs."""
    return [f"{name}:{number}: {line.strip()[:80]}" for number, line in _numbered(text) if _ADDRESS.search(line)]


def lock_files(names: Iterable[str]) -> list[str]:
    """The files among these that pin dependencies."""
    # Matched from its folder too, since `requirements/dev.txt` pins as much as `requirements-dev.txt`.
    tails = {name: "/".join(PurePosixPath(name).parts[-2:]) for name in names}
    return [
        name
        for name, tail in tails.items()
        if any(fnmatch(tail, pattern) or fnmatch(PurePosixPath(name).name, pattern) for pattern in _LOCKS)
    ]


def missing_commands(text: str, commands: Iterable[str]) -> list[str]:
    """Commands that a script does not run; a comment runs nothing."""
    live = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return [f"`{command}` is not there" for command in commands if not re.search(rf"\b{command}(?![\w-])", live)]


def missing_targets(makefile: str, targets: Iterable[str]) -> list[str]:
    """Targets that a Makefile does not have."""
    heads = re.findall(r"^([^\s#:=.][^:=#]*):(?!=)", makefile, re.MULTILINE)
    have = {target for head in heads for target in head.split()}
    return [f"`make {target}` is not there" for target in targets if target not in have]


def _numbered(text: str) -> Iterable[tuple[int, str]]:
    return enumerate(text.splitlines(), start=1)
