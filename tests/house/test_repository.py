"""What a stranger finds after cloning: it installs, it runs, and it names no machine of ours."""

import pytest

from . import repository
from .tree import ROOT, kept_files, listed, read

TARGETS = ["run", "test", "check", "bench"]


def test_the_continuous_check_runs_make_test() -> None:
    script = read(".ci/run")

    found = repository.missing_commands(script, ["make test"])

    assert not found, listed(found)


def test_lock_files_do_not_say_where_to_fetch_from() -> None:
    locks = repository.lock_files(kept_files())

    found = [line for name in locks for line in repository.addresses_in_lock(name, read(name))]

    assert not found, listed(found)


def test_no_file_names_a_folder_of_our_machines() -> None:
    names = kept_files()

    found = [line for name in names for line in repository.workplace_paths(name, text_of(name))]

    assert names
    assert not found, listed(found)


def test_the_changes_are_told() -> None:
    name = "CHANGELOG.md"

    text = read(name)

    assert text.strip()


def test_the_licence_is_apache() -> None:
    name = "LICENSE"

    text = read(name)

    assert "Apache License" in text


def test_the_makefile_has_the_usual_targets() -> None:
    makefile = read("Makefile")

    found = repository.missing_targets(makefile, TARGETS)

    assert not found, listed(found)


def text_of(name: str) -> str:
    """The text of a kept file; one with zero bytes is a picture or the like, and has none."""
    content = (ROOT / name).read_bytes()
    return "" if b"\0" in content else content.decode(errors="replace")


@pytest.mark.parametrize("place", ["work", "farm"])
@pytest.mark.parametrize("line", ["{}", "cd {}main", "path='{}x'", "file://{}x"])
def test_a_folder_of_our_machines_is_reported(place: str, line: str) -> None:
    text = "first\n" + line.format("/" + place + "/")

    found = repository.workplace_paths("notes.md", text)

    assert len(found) == 1
    assert found[0].startswith("notes.md:2: ")


def test_a_folder_with_a_like_name_is_not_reported() -> None:
    text = "./work/x ../farm/y /home/work/x /workshop/ example.org/work/"

    found = repository.workplace_paths("notes.md", text)

    assert found == []


def test_an_address_in_a_lock_file_is_reported() -> None:
    names = ["requirements-dev.txt", "requirements/dev.txt", "deploy/uv.lock", "README.md", "requirements.in"]

    found = repository.addresses_in_lock("uv.lock", "a==1\n--index-url https://pypi.example/simple\nb @ http://x/b.whl")

    assert repository.lock_files(names) == names[:3]
    assert [line.split(":")[1] for line in found] == ["2", "3"]


@pytest.mark.parametrize("script", ["", "# make test", "make test-unit", "make tests", "cmake testing"])
def test_a_script_that_does_not_run_the_command_is_reported(script: str) -> None:
    wanted = ["make test"]

    found = repository.missing_commands(script, wanted)

    assert found == ["`make test` is not there"]


def test_a_target_that_is_missing_is_reported() -> None:
    makefile = ".PHONY: bench\nrun: install\n\tpython\ntest check:\n\tpytest\nbench := 1\n# bench: no\n"

    found = repository.missing_targets(makefile, TARGETS)

    assert found == ["`make bench` is not there"]
