"""Push and filters on the command line: how they are set and shown, secrets, how it goes, and what the doctor says."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

from pregon.client import Client
from pregon.model.message import Outgoing
from pregon.testing import Receiver, Reply

from .command_line import Said, run
from .hub_process import HubProcess, end, wait_until

SOUTH = '{"header": "region", "equals": "sur"}'
CANONICAL = '{"header":"region","equals":"sur"}'


@pytest.fixture(scope="module")
def module_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    hub = HubProcess(tmp_path_factory.mktemp("hub") / "data", push_allow="127.0.0.1").start()
    yield hub
    end(hub)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def ask(hub: HubProcess, *arguments: str | Path) -> dict[str, Any]:
    """The one JSON value that a command must answer with."""
    said = run(*arguments, "--json", hub=hub.url)
    assert said.status == 0, said.err
    return said.row


def refused(hub: HubProcess, *arguments: str | Path) -> str:
    """The code with which a command must be refused."""
    said = run(*arguments, "--json", hub=hub.url)
    assert said.status == 2, said.out
    return str(said.error["code"])


def push_to(hub: HubProcess, receiver: Receiver, topic: str, *options: str) -> None:
    """A subscriber called as the topic, to which its messages are pushed."""
    ask(hub, "subscriber", "create", topic, "--mode", "push", "--endpoint", receiver.url, *options)
    ask(hub, "subscription", "create", topic, topic)


# Tests of web services.


def test_a_web_service_is_tested_and_what_went_over_the_wire_is_shown(
    hub: HubProcess, topic: str, receiver: Receiver, tmp_path: Path
) -> None:
    ask(hub, "subscriber", "create", topic, "--endpoint", receiver.url, "--format", "raw")
    (tmp_path / "body").write_bytes(b"\xff\x00")
    receiver.reply = Reply(200, body=b"bien\x1b[2J")

    said = run("subscriber", "test", topic, "--body", "hola", "--content-type", "text/plain", hub=hub.url)
    row = ask(hub, "subscriber", "test", topic, "--body", f"@{tmp_path / 'body'}", "--topic", "fallecidos")

    assert said.status == 0, said.err
    assert "> Pregon-Test: true" in said.out
    assert "> hola" in said.out
    assert "< HTTP 200" in said.out
    assert "bien" in said.out
    assert "\x1b[2J" not in said.out
    assert "delivered: HTTP 200 OK" in said.out
    assert (row["request"]["base64"], row["outcome"]) == ("/wA=", "delivered")
    assert {"name": "Pregon-Topic", "value": "fallecidos"} in row["request"]["headers"]


def test_a_test_that_fails_ends_with_1(hub: HubProcess, topic: str, receiver: Receiver) -> None:
    ask(hub, "subscriber", "create", topic, "--endpoint", receiver.url)
    receiver.reply = Reply(503)

    said = run("subscriber", "test", topic, hub=hub.url)
    nobody = run("subscriber", "test", "nobody", "--json", hub=hub.url)
    no_file = refused(hub, "subscriber", "test", topic, "--body", "@/no/such/file")

    assert said.status == 1
    assert "unreachable: HTTP 503 Service Unavailable" in said.out
    assert (nobody.error["code"], no_file) == ("not_found", "bad_request")


# Subscribers.


def test_a_subscriber_is_made_with_how_to_push_to_it(hub: HubProcess, topic: str) -> None:
    options = "--mode push --endpoint https://bps.example/ --format soap --time-limit 5s --rate 50 --parallel 4"
    more = "--attempts 3 --delay-first 2s --delay-max 1m --on-poison park --disable"

    made = ask(hub, "subscriber", "create", topic, *options.split(), *more.split())
    listed = run("subscriber", "list", "--after", topic[:-1], "--max", "1", hub=hub.url).out

    assert (made["mode"], made["endpoint"], made["format"]) == ("push", "https://bps.example/", "soap")
    assert (made["enabled"], made["disabled_reason"]) == (False, "")
    assert made["push"] == {
        "time_limit_ms": 5_000,
        "rate_per_s": 50,
        "parallel": 4,
        "attempts_max": 3,
        "delay_ms_first": 2_000,
        "delay_ms_max": 60_000,
        "on_poison": "park",
    }
    assert all(word in listed for word in ("push", "soap", "https://bps.example/"))


def test_an_update_changes_what_is_named_and_leaves_the_rest(hub: HubProcess, topic: str) -> None:
    made = ask(hub, "subscriber", "create", topic, "--parallel", "4", "--rate", "50")

    slower = ask(hub, "subscriber", "update", topic, "--parallel", "2")
    unbounded = ask(hub, "subscriber", "update", topic, "--rate", "0", "--disable")
    enabled = ask(hub, "subscriber", "update", topic, "--enable")

    assert slower == {**made, "push": {**made["push"], "parallel": 2}}
    assert (unbounded["push"]["rate_per_s"], unbounded["enabled"]) == (None, False)
    assert enabled == {**unbounded, "enabled": True}


def test_what_no_subscriber_can_be_is_refused(hub: HubProcess, topic: str) -> None:
    at = ["subscriber", "create", topic]

    codes = [
        refused(hub, *at, "--mode", "push"),
        refused(hub, *at, "--mode", "push", "--endpoint", "http://10.0.0.1/"),
        refused(hub, *at, "--time-limit", "soon"),
        refused(hub, *at, "--parallel", "1000"),
    ]
    unknown = run(*at, "--mode", "shove", hub=hub.url)

    assert codes == ["bad_request", "endpoint_forbidden", "bad_request", "bad_request"]
    assert (unknown.status, "pull" in unknown.err) == (2, True)


# Filters.


def test_a_filter_is_given_as_text_or_as_a_file_and_taken_away(hub: HubProcess, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "filter.json"
    file.write_text('{"jmespath": "edad > `60`"}')

    made = ask(hub, "subscription", "create", topic, "bps", "--filter", SOUTH)
    changed = ask(hub, "subscription", "update", topic, "bps", "--filter", f"@{file}")
    left = ask(hub, "subscription", "update", topic, "bps", "--pending-max", "5")
    gone = ask(hub, "subscription", "update", topic, "bps", "--no-filter")
    listed = run("subscription", "list", "--topic", topic, hub=hub.url).out

    assert made["filter"] == CANONICAL
    assert changed["filter"] == left["filter"] == '{"jmespath":"edad > `60`"}'
    assert gone["filter"] == ""
    assert "filter" in listed


def test_what_is_no_filter_is_refused(hub: HubProcess, topic: str, tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    at = ["subscription", "create", topic, "bps", "--filter"]
    ask(hub, "subscription", "create", topic, "imm")

    codes = [
        refused(hub, *at, "{}"),
        refused(hub, *at, "not json"),
        refused(hub, *at, " "),
        refused(hub, *at, f"@{binary}"),
        refused(hub, *at, f"@{tmp_path / 'absent'}"),
        refused(hub, "subscription", "update", topic, "imm", "--filter", SOUTH, "--no-filter"),
    ]

    assert codes == ["bad_filter"] * 4 + ["bad_request"] * 2


def test_a_pull_shows_why_each_message_was_wanted(hub: HubProcess, client: Client, topic: str) -> None:
    ask(hub, "subscription", "create", topic, "bps", "--filter", SOUTH)
    for region in ("sur", "norte"):
        client.publish(topic, Outgoing(b"news", headers={"region": region}))
    wait_until(lambda: client.account(topic, "bps").filtered == 1, "the filter has looked at all")

    people = run("pull", topic, "--as", "bps", "--no-ack", hub=hub.url)
    programs = run("pull", topic, "--as", "bps", "--json", hub=hub.url)
    shown = ask(hub, "subscription", "show", topic, "bps")

    assert people.out.endswith("news  (header region = sur)\n")
    assert [row["matched"] for row in programs.rows] == ["header region = sur"]
    assert (shown["accepted"], shown["acknowledged"], shown["filtered"]) == (2, 1, 1)


# Secrets.


def test_a_secret_is_made_shown_once_used_listed_and_revoked(hub: HubProcess, receiver: Receiver, topic: str) -> None:
    push_to(hub, receiver, topic)
    none = run("subscriber", "secret", "list", topic, hub=hub.url)

    made = ask(hub, "subscriber", "secret", "create", topic)
    run("publish", topic, "{}", hub=hub.url)
    (got,) = receiver.wait_for(1)
    listed = run("subscriber", "secret", "list", topic, "--json", hub=hub.url)
    revoked = run("subscriber", "secret", "revoke", topic, made["id"], hub=hub.url, PREGON_LANG="es")
    gone = run("subscriber", "secret", "revoke", topic, made["id"], "--json", hub=hub.url)

    secret = made.pop("secret")
    Webhook(secret).verify(got.body, got.headers)
    assert none.out == "none: what is pushed is not signed\n"
    assert listed.rows == [made]
    assert revoked.out == f"{topic}: secreto {made['id']} revocado\n"
    assert (gone.status, gone.error["code"]) == (3, "not_found")


def test_the_secret_alone_is_on_standard_output_and_what_to_do_with_it_beside(hub: HubProcess, topic: str) -> None:
    ask(hub, "subscriber", "create", topic)

    english = run("subscriber", "secret", "create", topic, hub=hub.url)
    spanish = run("subscriber", "secret", "create", topic, "--overlap", "1h", hub=hub.url, PREGON_LANG="es")

    for said in (english, spanish):
        (secret,) = said.out.splitlines()
        assert secret.startswith("whsec_")
        assert secret not in said.err
    assert "nobody can show it again" in english.err
    assert "durante 1h" in spanish.err


def test_a_secret_of_ones_own_comes_from_a_file_or_standard_input(hub: HubProcess, topic: str, tmp_path: Path) -> None:
    ask(hub, "subscriber", "create", topic)
    own = ["whsec_" + base64.b64encode(bytes([number] * 32)).decode() for number in (1, 2)]
    file = tmp_path / "secret"
    file.write_text(own[0] + "\n")
    at = ["subscriber", "secret", "create", topic, "--overlap", "0s", "--secret-file"]

    from_file = run(*at, file, hub=hub.url)
    from_input = run(*at, "-", hub=hub.url, stdin=own[1])
    wrong: list[Said] = []
    for content in (b"", b"hunter2", b"\xff", b"x" * 5_000):
        file.write_bytes(content)
        wrong.append(run(*at, file, "--json", hub=hub.url))

    assert [from_file.out, from_input.out] == [f"{own[0]}\n", f"{own[1]}\n"]
    assert [(said.status, said.error["code"]) for said in wrong] == [(2, "bad_request")] * 4
    assert all("hunter2" not in said.err for said in wrong)


# How it goes.


def test_how_a_push_goes_is_shown_and_traced(hub: HubProcess, receiver: Receiver, topic: str) -> None:
    receiver.reply = Reply(503)
    push_to(hub, receiver, topic, "--delay-first", "50ms")
    well = run("subscription", "push", topic, topic, hub=hub.url)

    run("publish", topic, "x", hub=hub.url)
    receiver.wait_for(2)
    failing = wait_until(
        lambda: (found := ask(hub, "subscription", "push", topic, topic))["attempts"] > 0 and found, "it fails"
    )
    people = run("subscription", "push", topic, topic, hub=hub.url)
    traces = run("traces", "--topic", topic, "--kind", "failed", "--json", hub=hub.url).rows
    shown = run("traces", "--topic", topic, "--kind", "failed", hub=hub.url).out

    assert "1970" not in well.out
    assert "503" in failing["last_failure"]
    assert "HTTP 503" in people.out
    assert 1 in [trace["attempt"] for trace in traces]
    assert {"attempt", "latency_ms"} <= set(shown.splitlines()[0].split())


def test_the_doctor_tells_pushes_that_fail_are_stopped_or_are_not_signed(
    hub: HubProcess, receiver: Receiver, topic: str
) -> None:
    def findings(**variables: str) -> dict[str, dict[str, Any]]:
        return {row["check"]: row for row in run("doctor", "--json", "--data", hub.data, hub=hub.url, **variables).rows}

    push_to(hub, receiver, topic, "--delay-first", "50ms")
    bare = findings()["signatures"]
    ask(hub, "subscriber", "secret", "create", topic)
    signed = findings()["signatures"]
    receiver.reply = Reply(503)
    run("publish", topic, "x", hub=hub.url)
    receiver.wait_for(2)
    wait_until(lambda: ask(hub, "subscription", "push", topic, topic)["attempts"] > 0, "it fails")
    failing = findings()["pushes"]
    receiver.reply = Reply(410)
    wait_until(lambda: not ask(hub, "subscriber", "show", topic)["enabled"], "it is stopped")
    stopped, spanish = findings(), findings(PREGON_LANG="es")
    run("subscriber", "delete", topic, hub=hub.url)

    assert (bare["is_well"], topic in bare["found"], "secret create" in bare["advice"]) == (True, True, True)
    assert topic not in signed["found"]
    assert (failing["is_well"], topic in failing["found"], "503" in failing["found"]) == (False, True, True)
    assert stopped["pushes"]["is_well"] or topic not in stopped["pushes"]["found"]
    assert (stopped["stopped"]["is_well"], "410" in stopped["stopped"]["found"]) == (False, True)
    assert "--enable" in spanish["stopped"]["advice"]
    assert "por el servidor" in spanish["stopped"]["found"]
