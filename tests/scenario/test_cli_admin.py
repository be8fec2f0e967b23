"""`pregon admin` and `pregon audit`: people made, changed and removed at a hub and in its directory; and who did it."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from pathlib import Path

import pytest

from .command_line import Said, run
from .conftest import MakeHub
from .hub_process import COMMAND, HubProcess, clean_environment

GOOD = "agua quieta del Cerro"
OTHER = "otra cosa muy distinta"


def create(
    name: str, *options: str | Path, password: str = GOOD, hub: str | None = None, key: str | None = None
) -> Said:
    """Let somebody in."""
    return run("admin", "create", name, *options, "--json", hub=hub, key=key, stdin=password + "\n")


def with_token(hub: HubProcess) -> tuple[str, str]:
    """A hub that is started with an administrator's token; its address, and the token."""
    token = run("token", "create", "admin", "--scope", "admin", "--data", hub.data).out.strip()
    return hub.start().url, token


def test_people_are_made_listed_changed_and_removed(make_hub: MakeHub) -> None:
    url, key = with_token(make_hub())

    made = [create("ana", hub=url, key=key), create("luis", "--role", "reader", hub=url, key=key)]
    listed = run("admin", "list", "--json", hub=url, key=key)
    changed = [
        run("admin", "password", "luis", "--json", hub=url, key=key, stdin=OTHER + "\n"),
        run("admin", "role", "luis", "operator", "--json", hub=url, key=key),
        run("admin", "disable", "luis", "--json", hub=url, key=key),
        run("admin", "enable", "luis", "--json", hub=url, key=key),
    ]
    people = run("admin", "list", hub=url, key=key)
    removed = run("admin", "delete", "luis", hub=url, key=key)
    gone = run("admin", "delete", "luis", "--json", hub=url, key=key)
    last = run("admin", "delete", "ana", "--json", hub=url, key=key)

    assert [one.row["role"] for one in made] == ["administrator", "reader"]
    assert listed.rows == [one.row for one in made]
    assert [(one.row["role"], one.row["enabled"]) for one in changed] == [
        ("reader", True),
        ("operator", True),
        ("operator", False),
        ("operator", True),
    ]
    assert [line.split()[:2] for line in people.out.splitlines()[1:]] == [
        ["ana", "administrator"],
        ["luis", "operator"],
    ]
    assert removed.out == "luis removed\n"
    assert (gone.status, gone.error["code"]) == (3, "not_found")
    assert (last.status, last.error["code"]) == (2, "limit_reached")


def test_an_open_hub_that_runs_makes_and_changes_nobody_and_says_what_to_do(make_hub: MakeHub) -> None:
    hub = make_hub()
    create("ana", "--data", hub.data)
    hub.start()

    said = [
        create("eve", hub=hub.url),
        create("eve", hub=f"http://{hub.addresses.http}"),
        run("admin", "password", "ana", "--json", hub=hub.url, stdin=OTHER + "\n"),
        run("admin", "delete", "ana", "--json", hub=hub.url),
    ]

    assert [(one.status, one.error["code"]) for one in said] == [(7, "unauthorized")] * 4
    assert all("`--data` with the hub stopped" in one.error["message"] for one in said)
    assert [row["name"] for row in run("admin", "list", "--json", hub=hub.url).rows] == ["ana"]
    assert run("topic", "list", hub=hub.url).status == 0, "the hub is open as before"


def test_people_are_told_in_their_language(tmp_path: Path) -> None:
    data = tmp_path / "data"

    spanish = run("admin", "create", "ana", "--data", data, stdin=GOOD + "\n", PREGON_LANG="es")
    english = run("admin", "password", "ana", "--data", data, stdin=OTHER + "\n", PREGON_LANG="en")

    assert spanish.out == "ana puede entrar como administrator\n"
    assert english.out == "ana has another password\n"


@pytest.mark.parametrize(
    ("stdin", "words"),
    [
        (b"", "first line of standard input"),
        (b"\n" + GOOD.encode(), "first line of standard input"),
        (b"short\n", "10 to 200"),
        (b"x" * 5_000, "10 to 200"),
        (b"\xff\xfe\xfd nothing of this is UTF-8\n", "not UTF-8"),
    ],
)
def test_a_password_that_may_not_be_is_refused_and_nothing_is_made(tmp_path: Path, stdin: bytes, words: str) -> None:
    data = tmp_path / "data"
    run("token", "create", "admin", "--scope", "admin", "--data", data)

    said = run("admin", "create", "eva", "--json", "--data", data, stdin=stdin)

    assert (said.status, said.error["code"]) == (2, "bad_request")
    assert words in said.error["message"]
    assert run("admin", "list", "--json", "--data", data).rows == []


def test_wrong_names_and_roles_are_refused(make_hub: MakeHub) -> None:
    url, key = with_token(make_hub())

    said = [
        create("no name", hub=url, key=key),
        run("admin", "create", "eva", "--role", "root", hub=url, key=key, stdin=GOOD),
        run("admin", "role", "nobody", "reader", "--json", hub=url, key=key),
    ]

    assert [one.status for one in said] == [2, 2, 3]
    assert run("admin", "list", "--json", hub=url, key=key).rows == []


def test_at_a_terminal_the_password_is_asked_for_twice_and_not_shown(tmp_path: Path) -> None:
    data = tmp_path / "data"

    same = at_terminal(["admin", "create", "ana", "--data", str(data)], [GOOD, GOOD])
    another = at_terminal(["admin", "create", "luis", "--data", str(data)], [GOOD, OTHER])

    assert same[0] == 0, same[1]
    assert "Password of ana: " in same[1] and "Once more: " in same[1]
    assert GOOD not in same[1] + another[1]
    assert another[0] == 2
    assert "not the same" in another[1]
    assert [row["name"] for row in run("admin", "list", "--json", "--data", data).rows] == ["ana"]


def at_terminal(arguments: list[str], answers: list[str]) -> tuple[int, str]:
    """Run a command at a terminal, give an answer to each question; its status, and all that the terminal shows."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=clean_environment(),
        start_new_session=True,
    )
    os.close(theirs)
    shown, asked, until = "", 0, time.monotonic() + 20
    while time.monotonic() < until:
        if not select.select([ours], [], [], 0.2)[0]:
            if process.poll() is not None:
                break
            continue
        try:
            shown += os.read(ours, 4_096).decode()
        except OSError:
            break
        if asked < len(answers) and shown.count(": ") > asked:
            os.write(ours, (answers[asked] + "\n").encode())
            asked += 1
    status = process.wait(10)
    os.close(ours)
    return status, shown


def test_a_hub_that_is_administered_lets_only_its_administrators_change_people(make_hub: MakeHub) -> None:
    hub = make_hub()
    admin = run("token", "create", "admin", "--scope", "admin", "--data", hub.data).out.strip()
    read = run("token", "create", "grafana", "--scope", "read", "--data", hub.data).out.strip()
    hub.start()

    said = [
        create("ana", hub=hub.url),
        create("ana", hub=hub.url, key=read),
        create("ana", hub=hub.url, key=admin),
        run("admin", "list", "--json", hub=hub.url, key=read),
        run("admin", "delete", "ana", "--json", hub=hub.url, key=read),
    ]

    assert [one.status for one in said] == [7, 2, 0, 0, 2]
    assert run("audit", "--json", hub=hub.url).status == 7


def test_people_are_made_and_changed_in_a_directory(make_hub: MakeHub) -> None:
    hub = make_hub()

    made = create("ana", "--data", hub.data)
    changed = run("admin", "password", "ana", "--json", "--data", hub.data, stdin=OTHER + "\n")
    hub.start()
    in_use = run("admin", "list", "--json", "--data", hub.data)
    audit = run("audit", "--json", hub=hub.url).rows

    assert (made.status, changed.status) == (0, 0)
    assert (in_use.status, in_use.error["code"]) == (4, "data_directory_in_use")
    assert [(row["who"], row["action"], row["object"]) for row in audit] == [
        ("data directory", "update", "ana"),
        ("data directory", "create", "ana"),
    ]


def test_only_creating_makes_a_directory(tmp_path: Path) -> None:
    absent = tmp_path / "absent"

    said = [
        run("admin", "list", "--json", "--data", absent),
        run("admin", "delete", "ana", "--json", "--data", absent),
        run("admin", "password", "ana", "--json", "--data", absent, stdin=GOOD),
    ]
    both = run("admin", "list", "--json", "--data", absent, "--hub", "tcp://127.0.0.1:1")

    assert [(one.status, one.error["code"]) for one in said] == [(3, "not_found")] * 3
    assert (both.status, both.error["code"]) == (2, "bad_request")
    assert not absent.exists()


def test_people_outlive_a_kill_and_no_password_is_on_disk_or_in_the_log(make_hub: MakeHub) -> None:
    hub = make_hub()
    url, key = with_token(hub)
    create("ana", hub=url, key=key)
    create("luis", password=OTHER, hub=f"http://{hub.addresses.http}", key=key)

    hub.kill()
    hub.start()
    rows = run("admin", "list", "--json", hub=hub.url, key=key).rows
    hub.stop()

    assert [row["name"] for row in rows] == ["ana", "luis"]
    written = b"".join(file.read_bytes() for file in hub.data.parent.rglob("*") if file.is_file())
    assert b"argon2id" in written
    assert [one for one in (GOOD, OTHER) if one.encode() in written] == []


def test_the_audit_is_searched_and_paged(make_hub: MakeHub) -> None:
    hub = make_hub().start()
    for name in ("births", "deaths"):
        run("topic", "create", name, hub=hub.url)
    run("topic", "update", "births", "--description", "who was born", hub=hub.url)

    everything = run("audit", "--json", hub=hub.url).rows
    of_one = run("audit", "--object", "bir*", "--action", "update", "--json", hub=hub.url).rows
    first = run("audit", "--max", "1", hub=hub.url)
    people = run("audit", "--kind", "topic", hub=hub.url, PREGON_LANG="es")
    none = run("audit", "--who", "token nobody", hub=hub.url, PREGON_LANG="es")
    wrong = run("audit", "--since", "yesterday", "--json", hub=hub.url)

    assert [(row["action"], row["object"]) for row in everything] == [
        ("update", "births"),
        ("create", "deaths"),
        ("create", "births"),
    ]
    assert [row["detail"] for row in of_one] == ['{"description":"who was born"}']
    assert f"--before {everything[0]['id']}" in first.err
    assert people.out.count("(cualquiera)") == 3
    assert none.out == "nadie cambió nada\n"
    assert (wrong.status, wrong.error["code"]) == (2, "bad_request")
