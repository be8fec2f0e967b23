"""A hub that asks who you are, from the command line: how it gets there, and that no secret is ever seen on the way."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .command_line import run
from .conftest import MakeHub
from .hub_process import COMMAND, HubProcess, clean_environment, find_port, wait_until

SERVICE = "/soap/novedades"


def shell(command: str, **variables: str) -> str:
    """What a command line answers, run word for word as a person would."""
    program = shlex.join(COMMAND)
    # What a person would have on the path is here the module under test.
    script = f'pregon() {{ {program} "$@"; }}\n{command}'
    environment = clean_environment(**variables)
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, timeout=30)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@contextmanager
def greeted(hub: HubProcess, **variables: str) -> Iterator[str]:
    """What a hub says on standard output when it has started, while it runs."""
    out = hub.data.with_name("greeting")
    with out.open("wb") as stdout, hub.log.open("ab") as stderr:
        process = subprocess.Popen(
            [*COMMAND, "serve", *hub.options], stdout=stdout, stderr=stderr, env=clean_environment(**variables)
        )
    try:
        wait_until(lambda: "Ctrl-C" in out.read_text() or process.poll() is not None, "it greets")
        yield out.read_text()
    finally:
        process.terminate()
        process.wait(20)


def secret_of(key: str) -> str:
    """The part of a key that nobody may see."""
    return key.split("_", 2)[2]


def make_administrator(hub: HubProcess) -> str:
    """The token of an administrator, made before the hub runs."""
    said = run("token", "create", "admin", "--scope", "admin", "--data", hub.data)
    assert said.status == 0, said.err
    return said.out.strip()


# Beyond this machine.


@pytest.mark.parametrize("door", ["--http", "--zmq", "--feed", "--ingest"])
def test_a_hub_without_an_administrator_is_not_shown_to_other_machines(make_hub: MakeHub, door: str) -> None:
    hub = make_hub()
    address = "0.0.0.0:0" if door == "--http" else "tcp://0.0.0.0:*"

    said = run("serve", *hub.options, door, address, "--log-level", "error")

    assert said.status == 4
    assert said.err.startswith("error not_secured")
    assert f"{door[2:]} = {address}" in said.err
    assert "--open-to-all" in said.err


def test_the_advice_of_a_hub_that_is_not_secured_works_word_for_word(make_hub: MakeHub) -> None:
    hub = make_hub()
    port = find_port()
    hub.options += ["--http", f"0.0.0.0:{port}"]
    refused = run("serve", *hub.options)
    (advice,) = re.findall(r"`(pregon token create [^`]+)`", refused.err)

    token = shell(advice).strip()
    hub.start()
    topics = f"http://127.0.0.1:{port}/v1/topics"
    status = "curl -s -o /dev/null -w '%{http_code}'"
    without = shell(f"{status} {topics}")
    with_it = shell(f"printf 'Authorization: Bearer %s' $PREGON_KEY | {status} -H @- {topics}", PREGON_KEY=token)

    assert refused.status == 4
    assert (without, with_it) == ("401", "200")


@pytest.mark.parametrize("way", ["option", "variable"])
def test_an_operator_who_says_so_opens_the_hub_to_all(make_hub: MakeHub, way: str) -> None:
    hub = make_hub(**({"open_to_all": "true"} if way == "variable" else {}))
    port = find_port()
    hub.options += ["--http", f"0.0.0.0:{port}", *(["--open-to-all"] if way == "option" else [])]

    hub.start()

    assert json.loads(shell(f"curl -s http://127.0.0.1:{port}/v1/topics"))["items"] == []


def test_with_keys_required_nobody_acts_in_a_name_without_one(make_hub: MakeHub) -> None:
    hub = make_hub()
    admin = make_administrator(hub)
    hub.options.append("--require-keys")
    hub.start()
    run("topic", "create", "novedades", hub=hub.url, key=admin)
    run("producer", "create", "dgrec", hub=hub.url, key=admin)
    publish = ["publish", "novedades", "x", "--producer", "dgrec", "--json"]

    nobody = run(*publish, hub=hub.url)
    administrator = run(*publish, hub=hub.url, key=admin)
    key = run("key", "create", "producer", "dgrec", hub=hub.url, key=admin).out.strip()
    bearer = run(*publish, hub=hub.url, key=key)

    assert (nobody.status, nobody.error["code"]) == (7, "unauthorized")
    assert (administrator.status, administrator.error["code"]) == (2, "forbidden")
    assert bearer.row["seq"] == 1


# The greeting.


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ["The hub is running.", "publish:", "pull:", "by HTTP:", "page:", "metrics:"]),
        ("es", ["El pregón está en marcha.", "publicar:", "recibir:", "por HTTP:", "página:", "métricas:"]),
    ],
)
def test_what_a_hub_says_when_it_starts_works_word_for_word(make_hub: MakeHub, language: str, words: list[str]) -> None:
    hub = make_hub()

    with greeted(hub, PREGON_LANG=language) as said:
        (by_http,) = re.findall(r"(curl .*/messages)", said)
        (metrics,) = re.findall(r"(curl .*/metrics)", said)
        (page,) = re.findall(r"(http://\S+/docs)", said)
        published = json.loads(shell(by_http))
        pulled = run("pull", "fallecidos", "--json", hub=hub.url).row
        shown = shell(f"curl -sf {page}")
        counted = shell(metrics)

    assert all(word in said for word in words), said
    assert (published["topic"], published["seq"]) == ("fallecidos", 1)
    assert (pulled["body"], pulled["content_type"]) == ("Pepe Gómez", "text/plain")
    assert "<html" in shown
    assert "pregon_messages_accepted_total 1" in counted


def test_a_hub_with_an_administrator_greets_with_commands_that_present_a_key(make_hub: MakeHub) -> None:
    hub = make_hub()
    token = make_administrator(hub)

    with greeted(hub) as said:
        (by_http,) = re.findall(r"(printf .*/messages)", said)
        (metrics,) = re.findall(r"(printf .*/metrics)", said)
        published = json.loads(shell(by_http, PREGON_KEY=token))
        counted = shell(metrics, PREGON_KEY=token)

    assert "present a key, in the variable PREGON_KEY" in said
    assert published["seq"] == 1
    assert "pregon_messages_accepted_total 1" in counted


def test_a_hub_behind_a_proxy_greets_with_the_address_of_the_proxy(make_hub: MakeHub) -> None:
    hub = make_hub()
    hub.options += ["--public-url", "https://hub.example.org/"]

    with greeted(hub) as said:
        wsdl = shell(f"curl -s 'http://{hub.addresses.http}{SERVICE}?wsdl'")

    assert "https://hub.example.org/docs" in said
    assert f'"https://hub.example.org{SERVICE}"' in wsdl


# Secrets.


def test_a_key_is_seen_neither_in_arguments_nor_in_logs_nor_on_disk(make_hub: MakeHub) -> None:
    hub = make_hub(log_level="debug")
    admin = make_administrator(hub)
    hub.start()
    run("topic", "create", "novedades", hub=hub.url, key=admin)
    run("subscriber", "create", "bps", hub=hub.url, key=admin)
    run("subscription", "create", "novedades", "bps", hub=hub.url, key=admin)
    key = run("key", "create", "subscriber", "bps", hub=hub.url, key=admin).out.strip()
    secrets = [secret_of(admin), secret_of(key)]
    follow = subprocess.Popen(
        [*COMMAND, "follow", "novedades", "--as", "bps"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=clean_environment(PREGON_HUB=hub.url, PREGON_KEY=key),
    )
    try:
        wait_until(lambda: b"pregon_pulls_waiting 1" in _metrics(hub, admin), "it follows")
        arguments = b"\n".join(_arguments())
    finally:
        follow.terminate()
        seen, _ = follow.communicate(timeout=20)
    half_wrong = f"{key[:-4]}AAAA"
    for presented in (admin, key, half_wrong):
        run("topic", "list", hub=hub.url, key=presented)
        run("topic", "list", hub=f"http://{hub.addresses.http}", key=presented)
        _metrics(hub, presented)
    hub.stop()

    kept = b"".join(file.read_bytes() for file in hub.data.iterdir())
    assert b"follow novedades" in arguments, "the follower was among what was looked at"
    for secret in [*secrets, secret_of(half_wrong)]:
        assert secret.encode() not in arguments
        assert secret.encode() not in seen
        assert secret not in hub.log.read_text()
        assert secret.encode() not in kept


def _metrics(hub: HubProcess, token: str) -> bytes:
    command = ["curl", "-s", "-H", "@-", f"http://{hub.addresses.http}/metrics"]
    return subprocess.run(command, input=f"Authorization: Bearer {token}".encode(), capture_output=True).stdout


def _arguments() -> Iterator[bytes]:
    """The arguments of every process of this machine, as `ps` shows them."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield file.read_bytes().replace(b"\0", b" ")
        except OSError:  # It ended meanwhile.
            continue


def test_no_error_repeats_the_key_that_was_presented(make_hub: MakeHub, tmp_path: Path) -> None:
    hub = make_hub()
    admin = make_administrator(hub)
    hub.start()
    key = run("token", "create", "grafana", "--scope", "read", hub=hub.url, key=admin).out.strip()
    nowhere = find_port()
    doors = [hub.url, f"http://{hub.addresses.http}"]
    strange = [f"{key}~", key.upper(), f" {key}", f"{key}\n", "no key at all", f"{key}ñ", key * 200]

    said = [run("topic", "create", "x", *form, hub=door, key=key) for door in doors for form in ([], ["--json"])]
    said += [run("topic", "list", hub=door, key=one) for door in doors for one in strange]
    said += [
        run("publish", "x", "y", "--timeout", "200", hub=f"{scheme}://127.0.0.1:{nowhere}", key=key)
        for scheme in ("tcp", "http", "https")
    ]
    said += [run("doctor", "--data", tmp_path / "absent", hub=hub.url, key=f"{key}~"), run("shout", key=key)]

    assert all(one.status != 0 for one in said[:4])
    assert not [one for one in said if secret_of(key) in one.out + one.err]


def test_a_key_of_the_hub_is_not_published_as_the_key_of_a_message(hub: HubProcess, topic: str) -> None:
    mistaken = "pgn_0123456789ab_kW3nobodyshouldseethis"

    said = run("publish", topic, "x", "--key", mistaken, "--json", hub=hub.url)

    assert (said.status, said.error["code"]) == (2, "bad_request")
    assert "PREGON_KEY" in said.error["message"]
    assert mistaken not in said.err
    assert run("topic", "show", topic, hub=hub.url).status == 3


def test_the_help_says_where_the_key_comes_from() -> None:
    said = [run("--help"), run("publish", "--help"), run("token", "list", "--help")]

    assert all("PREGON_KEY" in one.out for one in said)
