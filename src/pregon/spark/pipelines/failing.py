"""What Spark says when something fails, as one of our errors: a sentence, not a page of Java.

An error of ours that was raised in the driver's or a task's Python comes back from Spark as text inside other errors;
here it becomes itself again, so that its exit status and its advice reach the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from pregon.errors import BY_CODE, PregonError, StoreFailed

_OURS = re.compile(r"\bpregon\.errors\.\w+\.(\w+): ([^\n]+)")
_BY_NAME = {error.__name__: error for error in BY_CODE.values()}
_NO_SPACE = re.compile(r"No space left on device|DiskOutOfSpace")
_INTERRUPTED = re.compile(r"\bjava\.[\w.]*Interrupt\w*")
_JAVA_NAME = re.compile(r"^(?:[a-z]\w*\.)+[A-Z][\w$]*: ")
_CAUSED_BY = "Caused by: "
_LINE_CHARACTERS_MAX = 500
VERBOSE_HINT = "--verbose shows all that Spark said"


@contextmanager
def spark_errors_as_ours() -> Iterator[None]:
    """Raises what Spark raises inside as an error of ours."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise find_cause(str(error)) from error


@contextmanager
def batch_errors_as_ours() -> Iterator[None]:
    """The same for what a stream does with a batch, where what was the cause is left out.

    Spark looks in the text of what failed for an interruption, with a pattern for which a page of Java is too long: its
    stack overflows, and that is a thousand lines in the terminal.
    """
    try:
        yield
    except (PySparkException, Py4JError) as error:
        said = str(error)
        if _INTERRUPTED.search(said):
            # The query is being stopped: Spark has to see that.
            raise
        raise find_cause(said) from None


def find_cause(said: str) -> PregonError:
    """The error that a text of Spark's is about."""
    ours = _OURS.search(said)
    if ours is not None and ours[1] in _BY_NAME:
        return _BY_NAME[ours[1]](ours[2].strip()[:_LINE_CHARACTERS_MAX])
    if _NO_SPACE.search(said):
        return StoreFailed("there is no space left on a disk of Spark: make room, or set spark.local.dir with --conf")
    return PregonError(f"Spark failed: {_first_line(said)} ({VERBOSE_HINT})")


def _first_line(said: str) -> str:
    """What a text says and what it says that caused it, without where in Java it was said."""
    lines = [_JAVA_NAME.sub("", line.strip().removeprefix(": ")) for line in said.splitlines()]
    told = [line for line in lines if line and not line.startswith(("at ", "An error occurred while calling"))]
    if not told:
        return "it did not say why"
    causes = [_JAVA_NAME.sub("", line.removeprefix(_CAUSED_BY)) for line in told if line.startswith(_CAUSED_BY)]
    return " / ".join(dict.fromkeys([told[0], *causes[-1:]]))[:_LINE_CHARACTERS_MAX]
