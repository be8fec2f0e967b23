"""Where the browser comes from, and what happens to a test when there is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pregon.bench.peers import install as debian
from pregon.bench.peers.process import PeerMissing

from . import chromium
from .chromium import Chromium, find_chromium, require_chromium, unpacked_folder


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without a browser, and its folder of programs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CI", raising=False)
    return programs


def put_program(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def test_without_apt_get_the_test_is_skipped_and_told_why(bare_machine: Path) -> None:
    with pytest.raises(pytest.skip.Exception, match="no apt-get; install them by hand"):
        require_chromium()


def test_without_root_the_test_is_skipped_and_told_why(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_program(bare_machine / "apt-get")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    with pytest.raises(pytest.skip.Exception, match="only root may install them"):
        require_chromium()


def test_in_ci_a_missing_browser_is_a_failure(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="this needs a browser"):
        require_chromium()


def test_in_ci_an_installation_that_fails_is_a_failure(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(chromium, "install_chromium", _fail_to_install)

    with pytest.raises(pytest.fail.Exception, match="the mirror is gone"):
        require_chromium()


def test_root_installs_what_is_missing(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def install(packages: list[str]) -> dict[str, str]:
        asked.extend(packages)
        put_program(bare_machine / "chromium")
        # A font that cannot be had is no reason to go without a browser.
        return {"fonts-liberation": "there is none"}

    put_program(bare_machine / "apt-get")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(debian, "_install", install)

    found = require_chromium()

    assert found == Chromium(bare_machine / "chromium")
    assert asked == ["chromium", "fonts-liberation"]


@pytest.mark.parametrize("name", ["chromium", "google-chrome", "google-chrome-stable", "chromium-browser"])
def test_a_browser_on_the_path_is_used_as_it_is(name: str, bare_machine: Path) -> None:
    executable = put_program(bare_machine / name)

    found = require_chromium()

    assert found == Chromium(executable)
    assert found.environment() == dict(os.environ)


def test_an_unpacked_browser_is_found_with_its_libraries(bare_machine: Path) -> None:
    executable = put_program(unpacked_folder() / "usr/lib/chromium/chromium")
    libraries = unpacked_folder() / "usr/lib/x86_64-linux-gnu"
    (libraries / "pulseaudio").mkdir(parents=True)

    found = require_chromium()

    assert found == Chromium(executable, (libraries, libraries / "pulseaudio"))
    assert found.environment()["LD_LIBRARY_PATH"] == f"{libraries}:{libraries / 'pulseaudio'}"


def test_an_unpacked_file_that_cannot_be_run_is_no_browser(bare_machine: Path) -> None:
    put_program(unpacked_folder() / "usr/lib/chromium/chromium").chmod(0o644)

    found = find_chromium()

    assert found is None


def _fail_to_install() -> None:
    raise PeerMissing("chromium: apt-get install failed: the mirror is gone")
