"""The package fits in a head: sizes, names and docstrings."""

import pytest

from . import shape
from .tree import EVERYWHERE, PACKAGE, Rule, Source, listed, sources, violations


def test_the_rules_have_something_to_read() -> None:
    folder = PACKAGE

    found = sources(folder)

    assert found, f"no Python file under {folder}: every other rule would pass for nothing"


def test_no_module_is_longer_than_350_lines() -> None:
    folders = EVERYWHERE

    found = violations(shape.long_modules, *folders)

    assert not found, listed(found)


def test_no_function_is_longer_than_60_lines() -> None:
    folder = PACKAGE

    found = violations(shape.long_functions, folder)

    assert not found, listed(found)


def test_no_signature_is_wider_than_7_parameters() -> None:
    folder = PACKAGE

    found = violations(shape.wide_signatures, folder)

    assert not found, listed(found)


def test_every_module_says_what_it_is_for() -> None:
    folders = EVERYWHERE

    found = violations(shape.silent_modules, *folders)

    assert not found, listed(found)


def test_every_package_says_it_in_two_sentences() -> None:
    folder = PACKAGE

    found = violations(shape.curt_packages, folder)

    assert not found, listed(found)


def test_no_file_or_folder_has_an_empty_name() -> None:
    folders = EVERYWHERE

    found = violations(shape.empty_names, *folders)

    assert not found, listed(found)


def test_every_public_class_and_function_is_described() -> None:
    folder = PACKAGE

    found = violations(shape.undescribed_names, folder)

    assert not found, listed(found)


HUB = "src/pregon/hub/publish.py"
CLI = "src/pregon/cli/topic.py"
INIT = "src/pregon/hub/__init__.py"
WIDE = "def f(a, b, c, d, e, f, g, h): ..."

BROKEN: list[tuple[Rule, str, str]] = [
    (shape.long_modules, HUB, "x = 1\n" * 351),
    (shape.long_functions, HUB, "class A:\n    async def f(self):\n" + "        x = 1\n" * 60),
    (shape.long_functions, HUB, "def f():\n    '''A\n" + "    word\n" * 58 + "    '''\n"),
    (shape.wide_signatures, HUB, WIDE),
    (shape.wide_signatures, HUB, "def f(a, /, b, c, *d, e, f, g, **h): ..."),
    (shape.wide_signatures, HUB, "@app.command()\n" + WIDE),
    (shape.wide_signatures, CLI, WIDE),
    (shape.silent_modules, HUB, "x = 1\n"),
    (shape.silent_modules, INIT, ""),
    (shape.curt_packages, INIT, '"""Verbs (e.g. publish)."""'),
    (shape.empty_names, "src/pregon/hub/utils.py", ""),
    (shape.empty_names, "src/pregon/core/publish.py", ""),
    (shape.undescribed_names, HUB, "class Hub: ..."),
    (shape.undescribed_names, HUB, "async def publish(): ..."),
]

KEPT: list[tuple[Rule, str, str]] = [
    (shape.long_modules, HUB, "x = 1\n" * 350),
    (shape.long_functions, HUB, "def f():\n" + "    x = 1\n" * 59),
    (shape.wide_signatures, HUB, "class A:\n    def f(self, a, b, c, d, e, f, g): ..."),
    (shape.wide_signatures, CLI, "@app.command('add')\n" + WIDE),
    (shape.silent_modules, HUB, '"""Accepts messages."""'),
    (shape.silent_modules, "tests/unit/__init__.py", ""),
    (shape.curt_packages, INIT, '"""The verbs. It stores nothing: `store` does."""'),
    (shape.empty_names, "src/pregon/hub/commons.py", ""),
    (
        shape.undescribed_names,
        HUB,
        "def _f(): ...\n@typing.overload\ndef g(): ...\nclass A:\n    '''A.'''\n    def h(): ...",
    ),
]


@pytest.mark.parametrize(("rule", "name", "text"), BROKEN)
def test_a_broken_rule_is_reported_once_with_its_place(rule: Rule, name: str, text: str) -> None:
    source = Source(name, text)

    found = rule(source)

    assert len(found) == 1
    assert found[0].startswith(name)


@pytest.mark.parametrize(("rule", "name", "text"), KEPT)
def test_a_kept_rule_is_not_reported(rule: Rule, name: str, text: str) -> None:
    source = Source(name, text)

    found = rule(source)

    assert found == []
