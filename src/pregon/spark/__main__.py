"""What Spark's own commands need of the package: `python -m pregon.spark java-home`, `python -m pregon.spark package`.

A program that calls `pregon.spark.session` and `pregon.spark.ship` needs neither.

Promises: a file is written whole or not at all; what goes wrong is one line, and an exit status that is not 0.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pregon.errors import PregonError, SettingsInvalid
from pregon.spark.java import home_of, require_java
from pregon.spark.shipping import NEEDED, archive

USAGE = """\
python -m pregon.spark java-home          the JAVA_HOME for spark-submit and the like: export JAVA_HOME=$(…)
python -m pregon.spark package FILE.zip   the package, for spark-submit --py-files"""


def main(arguments: list[str]) -> int:
    """Do what is asked; returns the exit status."""
    try:
        sys.stdout.write(f"{_answer(arguments)}\n")
    except PregonError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_status
    except OSError as error:
        sys.stderr.write(f"{error.filename}: {error.strerror}\n")
        return 1
    return 0


def _answer(arguments: list[str]) -> str:
    match arguments:
        case ["java-home"]:
            return str(home_of(require_java()))
        case ["package", target]:
            _write(Path(target), archive())
            return f"{target}: executors need {', '.join(NEEDED)} besides"
        case _:
            raise SettingsInvalid(f"say what to do:\n{USAGE}")


def _write(target: Path, content: bytes) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        temporary.write_bytes(content)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
