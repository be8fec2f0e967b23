"""What the code of the package never does."""

import pytest

from . import conduct
from .tree import PACKAGE, Rule, Source, listed, violations


def test_only_the_clock_reads_the_wall_clock() -> None:
    folder = PACKAGE

    found = violations(conduct.wall_clock_reads, folder)

    assert not found, listed(found)


def test_nothing_is_caught_without_a_name() -> None:
    folder = PACKAGE

    found = violations(conduct.bare_excepts, folder)

    assert not found, listed(found)


def test_every_broad_catch_says_why() -> None:
    folder = PACKAGE

    found = violations(conduct.unexplained_catches, folder)

    assert not found, listed(found)


def test_only_the_command_line_and_the_bench_print() -> None:
    folder = PACKAGE

    found = violations(conduct.prints, folder)

    assert not found, listed(found)


def test_no_work_is_left_unfinished() -> None:
    folder = PACKAGE

    found = violations(conduct.unfinished_work, folder)

    assert not found, listed(found)


def test_every_error_raised_in_a_handler_names_its_cause() -> None:
    folder = PACKAGE

    found = violations(conduct.orphan_raises, folder)

    assert not found, listed(found)


HUB = "src/pregon/hub/publish.py"
CATCH = "try:\n    f()\n{above}except {kind}:{beside}\n    {body}\n"


def catch(kind: str, *, above: str = "", beside: str = "", body: str = "pass") -> str:
    return CATCH.format(kind=kind, above=above, beside=beside, body=body)


BROKEN: list[tuple[Rule, str]] = [
    (conduct.wall_clock_reads, "started = time.time()"),
    (conduct.wall_clock_reads, "at: float = field(default_factory=time.time)"),
    (conduct.wall_clock_reads, "from time import monotonic, time"),
    (conduct.wall_clock_reads, "datetime.now(UTC)"),
    (conduct.wall_clock_reads, "datetime.datetime.now()"),
    (conduct.bare_excepts, "try:\n    f()\nexcept:\n    raise\n"),
    (conduct.unexplained_catches, catch("Exception")),
    (conduct.unexplained_catches, catch("(OSError, BaseException) as error")),
    (conduct.unexplained_catches, catch("Exception", beside="  # noqa: BLE001")),
    (conduct.unexplained_catches, "try:\n    f()  # a comment about f\nexcept Exception:\n    pass\n"),
    (conduct.prints, "print('hello')"),
    (conduct.unfinished_work, "x = 1  # TODO: more"),
    (conduct.unfinished_work, '"""FIXME"""'),
    (conduct.orphan_raises, catch("KeyError", body="raise Rejected()")),
    (conduct.orphan_raises, catch("KeyError", body="if x:\n        raise Rejected()")),
    (conduct.orphan_raises, catch("KeyError as error", body="raise error")),
]

KEPT: list[tuple[Rule, str]] = [
    (conduct.wall_clock_reads, "'''Never time.time().'''\ntime.monotonic()\nclock.now()"),
    (conduct.bare_excepts, catch("OSError")),
    (conduct.unexplained_catches, catch("ValueError")),
    (conduct.unexplained_catches, catch("Exception", beside="  # noqa: BLE001 - the loop must go on")),
    (conduct.unexplained_catches, catch("Exception", above="# One bad push must not stop the others.\n")),
    (conduct.prints, "console.print('hello')\n'''print()'''"),
    (conduct.unfinished_work, "todos = 1  # todo el pueblo"),
    (conduct.orphan_raises, catch("KeyError as error", body="raise Rejected() from error")),
    (conduct.orphan_raises, catch("KeyError", body="raise Rejected() from None")),
    (conduct.orphan_raises, catch("KeyError", body="raise")),
    (conduct.orphan_raises, catch("KeyError", body="def later():\n        raise Rejected()")),
    (
        conduct.orphan_raises,
        "try:\n    raise Rejected()\nexcept KeyError:\n    pass\nelse:\n    raise Rejected()\n",
    ),
]


@pytest.mark.parametrize(("rule", "text"), BROKEN)
def test_a_broken_rule_is_reported_once_with_its_place(rule: Rule, text: str) -> None:
    source = Source(HUB, text)

    found = rule(source)

    assert len(found) == 1
    assert found[0].startswith(f"{HUB}:")


@pytest.mark.parametrize(("rule", "text"), KEPT)
def test_a_kept_rule_is_not_reported(rule: Rule, text: str) -> None:
    source = Source(HUB, text)

    found = rule(source)

    assert found == []


@pytest.mark.parametrize(
    ("rule", "name", "text"),
    [
        (conduct.wall_clock_reads, "src/pregon/clock.py", "time.time()"),
        (conduct.wall_clock_reads, "src/pregon/bench/run.py", "time.time()"),
        (conduct.prints, "src/pregon/cli/topic.py", "print()"),
        (conduct.prints, "src/pregon/bench/run.py", "print()"),
    ],
)
def test_who_has_leave_is_not_reported(rule: Rule, name: str, text: str) -> None:
    source = Source(name, text)

    found = rule(source)

    assert found == []
