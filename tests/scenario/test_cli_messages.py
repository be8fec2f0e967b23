"""`pregon publish`, `pull` and `follow`, as people and as programs use them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from pregon.client import Client

from .command_line import run
from .hub_process import COMMAND, HubProcess, clean_environment, wait_until


@contextmanager
def running(hub: HubProcess, *arguments: str, errors: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A command that does not end by itself; what it says on standard error goes to a file."""
    with errors.open("wb") as stderr:
        process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=clean_environment(PREGON_HUB=hub.url),
        )
    try:
        yield process
    finally:
        if process.stdout is not None:
            process.stdout.close()
        if process.poll() is None:
            process.kill()
        process.wait()


def read_line(stream: IO[bytes] | None, deadline_s: float = 10) -> bytes:
    """The next line; fails if it does not come in time."""
    assert stream is not None
    os.set_blocking(stream.fileno(), False)
    line = b""

    def is_whole() -> bool:
        nonlocal line
        line += stream.readline() or b""
        return line.endswith(b"\n")

    wait_until(is_whole, "the command shows a line", deadline_s)
    return line


# Publishing.


def test_messages_are_published_from_arguments_a_file_its_lines_and_standard_input(
    hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    file = tmp_path / "message"
    file.write_bytes(b"one\r\ntwo\n\xff three")

    said = [
        run("publish", topic, "a", "b", "--json", hub=hub.url),
        run("publish", topic, "--file", file, "--json", hub=hub.url),
        run("publish", topic, "--file", file, "--lines", "--json", hub=hub.url),
        run("publish", topic, "--json", hub=hub.url, stdin="x\ny\n"),
        run("publish", topic, "--json", hub=hub.url),
    ]

    assert [one.status for one in said] == [0] * 5
    assert [row["seq"] for row in said[0].rows] == [1, 2]
    assert said[1].row == {"topic": topic, "seq": 3, "duplicate": False}
    assert said[2].row == {"topic": topic, "count": 3, "last_seq": 6}
    assert said[3].row == {"topic": topic, "count": 2, "last_seq": 8}
    assert said[4].row == {"topic": topic, "count": 0, "last_seq": None}
    assert [message.body for message in client.read(topic, 1)] == [
        *(b"a", b"b", file.read_bytes(), b"one", b"two", b"\xff three", b"x", b"y")
    ]


def test_what_is_said_of_a_message_arrives_with_it(hub: HubProcess, client: Client, topic: str) -> None:
    options = ["--producer", "dgrec", "--id", "7", "--key", "k", "--content-type", "text/csv", "--header", "a=b=c"]

    first, again = [run("publish", topic, "x;y", *options, "--header", "d=", hub=hub.url) for _ in range(2)]

    (message,) = client.read(topic, 1)
    assert (message.producer, message.id, message.key, message.content_type) == ("dgrec", "7", "k", "text/csv")
    assert message.headers == {"a": "b=c", "d": ""}
    assert first.out == f"{topic} 1\n"
    assert again.out == f"{topic} 1 (published before)\n"


def test_a_body_that_is_no_text_is_published_as_it_is(hub: HubProcess, client: Client, topic: str) -> None:
    said = run("publish", topic, os.fsdecode(b"\xff\xfe"), hub=hub.url)

    assert said.status == 0
    assert [message.body for message in client.read(topic, 1)] == [b"\xff\xfe"]


def test_a_publication_that_makes_no_sense_is_refused(hub: HubProcess, topic: str, tmp_path: Path) -> None:
    said = [
        run("publish", topic, "a", "b", "--id", "1", "--json", hub=hub.url),
        run("publish", topic, "--id", "1", "--json", hub=hub.url, stdin="a\n"),
        run("publish", topic, "a", "--header", "nothing", "--json", hub=hub.url),
        run("publish", topic, "--file", tmp_path / "absent", "--json", hub=hub.url),
        run("publish", topic, "--file", tmp_path / "absent", "--lines", "--json", hub=hub.url),
    ]

    assert [one.status for one in said] == [2] * 5
    assert {one.error["code"] for one in said} == {"bad_request"}
    assert {one.out for one in said} == {""}


# Pulling.


def test_a_pull_shows_what_is_pending_and_acknowledges_it(hub: HubProcess, client: Client, topic: str) -> None:
    client.publish(topic, "Pepe Gómez", id="1")
    client.publish(topic, b"\xff")

    kept = run("pull", topic, "--as", "bps", "--no-ack", "--json", hub=hub.url)
    shown = run("pull", topic, "--as", "bps", "--max", "1", hub=hub.url)
    rest = run("pull", topic, "--as", "bps", "--raw", hub=hub.url)
    nothing = run("pull", topic, "--as", "bps", hub=hub.url)
    programs = run("pull", topic, "--as", "bps", "--json", hub=hub.url)

    assert [(row["seq"], row.get("body"), row.get("body_base64")) for row in kept.rows] == [
        (1, "Pepe Gómez", None),
        (2, None, "/w=="),
    ]
    assert shown.out.split()[0:2] == ["1", "local"]
    assert shown.out.endswith("Pepe Gómez\n")
    assert rest.out == "\\xff\n"
    assert (nothing.status, nothing.out, nothing.err) == (0, "", "nothing pending for bps\n")
    assert (programs.status, programs.out, programs.err) == (0, "", "")
    assert client.account(topic, "bps").acknowledged == 2


def test_a_pull_waits_as_long_as_it_was_told(hub: HubProcess, client: Client, topic: str, tmp_path: Path) -> None:
    client.pull(topic, "bps")
    with running(hub, "pull", topic, "--as", "bps", "--wait", "20000", "--raw", errors=tmp_path / "err") as pull:
        wait_until(lambda: client.status()["waiting"] == 1, "it waits")
        client.publish(topic, "news")
        line = read_line(pull.stdout)
        status = pull.wait(10)

    assert (line, status) == (b"news\n", 0)


def test_what_could_move_the_cursor_of_a_terminal_is_not_shown(hub: HubProcess, client: Client, topic: str) -> None:
    nasty = "\x1b[2J\x1b]0;title\x07\r\x9b31m\u202eover\nnext [bold red]loud[/] [/] :smile:"
    client.publish(topic, nasty)
    client.update("topic", topic, description=nasty)

    shown = run("pull", topic, hub=hub.url)
    described = run("topic", "show", topic, hub=hub.url)

    for said in (shown, described):
        assert said.status == 0
        assert all(one.isprintable() or one == "\n" for one in said.out)
        assert "[bold red]loud[/] [/] :smile:" in said.out, "and nothing is taken for markup"
    assert shown.out.count("\n") == 1


# Following.


@pytest.mark.parametrize("form", ["--json", "--raw", ""])
def test_a_follower_shows_each_message_as_it_comes(
    hub: HubProcess, client: Client, topic: str, tmp_path: Path, form: str
) -> None:
    client.publish(topic, "first")
    with running(hub, "follow", topic, "--as", "bps", *filter(None, [form]), errors=tmp_path / "err") as follow:
        lines = [read_line(follow.stdout)]
        client.publish(topic, "second")
        lines.append(read_line(follow.stdout))
        follow.send_signal(signal.SIGINT)
        status = follow.wait(10)

    shown = [json.loads(line)["body"] if form == "--json" else line.decode().split()[-1] for line in lines]
    assert shown == ["first", "second"]
    assert status == 130
    assert "Traceback" not in (tmp_path / "err").read_text()
    assert client.account(topic, "bps").acknowledged == 2


def test_a_follower_ends_when_nothing_is_pending_if_it_was_told_so(hub: HubProcess, client: Client, topic: str) -> None:
    for number in range(5):
        client.publish(topic, str(number))

    said = run("follow", topic, "--until-empty", "--raw", "--max", "2", hub=hub.url)

    assert said.status == 0
    assert said.out == "0\n1\n2\n3\n4\n"
    assert client.account(topic, "local").pending == 0


@pytest.mark.parametrize("form", ["--json", "--raw", ""])
def test_a_reader_that_has_had_enough_is_no_error(
    hub: HubProcess, client: Client, topic: str, tmp_path: Path, form: str
) -> None:
    with client.producer(topic) as out:
        for _ in range(3_000):
            out.send("x" * 100)

    with running(hub, "follow", topic, "--until-empty", *filter(None, [form]), errors=tmp_path / "err") as follow:
        read_line(follow.stdout)
        assert follow.stdout is not None
        follow.stdout.close()
        status = follow.wait(20)

    assert (tmp_path / "err").read_text() == ""
    assert status == 0
    assert client.account(topic, "local").pending > 0, "what was not shown is not acknowledged"
