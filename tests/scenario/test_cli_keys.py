"""`pregon key` and `pregon token`: made, shown once, listed, rotated and revoked, at a hub and in its directory."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from pregon.client import Client
from pregon.errors import RateLimited

from .command_line import Said, run
from .conftest import MakeHub
from .hub_process import HubProcess, open_hub


def make(*arguments: str | Path, **more: str | None) -> str:
    """The secret that a `create` writes."""
    said = run(*arguments, **more)  # type: ignore[arg-type]
    assert said.status == 0, said.err
    return said.out.removesuffix("\n")


def id_of(secret: str) -> str:
    """The public part of a key."""
    return secret.split("_")[1]


@pytest.mark.parametrize("kind", ["producer", "subscriber"])
def test_a_key_is_made_shown_once_listed_and_revoked(hub: HubProcess, kind: str) -> None:
    run(kind, "create", "dgrec", hub=hub.url)
    limits = ["--label", "the cellar", "--requests-per-s", "50", "--body-bytes-max", "64KiB", "--lifetime", "90d"]

    made = run("key", "create", kind, "dgrec", *limits, "--json", hub=hub.url).row
    listed = run("key", "list", kind, "dgrec", "--json", hub=hub.url)
    people = run("key", "list", kind, "dgrec", hub=hub.url)
    revoked = run("key", "revoke", kind, "dgrec", made["id"], hub=hub.url)
    gone = run("key", "revoke", kind, "dgrec", made["id"], "--json", hub=hub.url)
    empty = run("key", "list", kind, "dgrec", hub=hub.url)

    secret = made.pop("secret")
    assert secret.startswith(f"pgn_{made['id']}_")
    assert (made["kind"], made["owner"], made["scopes"], made["label"]) == (kind, "dgrec", [], "the cellar")
    assert (made["requests_per_s"], made["body_bytes_max"]) == (50, 64 * 1024)
    assert made["expires_us"] - made["created_us"] == 90 * 86_400_000_000
    assert listed.rows == [made]
    assert "the cellar" in people.out
    assert secret.split("_", 2)[2] not in listed.out + people.out
    assert revoked.out == f"{kind} dgrec: key {made['id']} revoked\n"
    assert (gone.status, gone.error["code"]) == (3, "not_found")
    assert f"pregon key list {kind} dgrec" in gone.error["message"]
    assert empty.out == "none\n"


def test_the_key_alone_is_on_standard_output_and_what_to_do_with_it_beside(hub: HubProcess) -> None:
    run("producer", "create", "mides", hub=hub.url)

    english = run("key", "create", "producer", "mides", hub=hub.url)
    spanish = run("key", "create", "producer", "mides", "--overlap", "24h", hub=hub.url, PREGON_LANG="es")

    for said in (english, spanish):
        (secret,) = said.out.splitlines()
        assert secret not in said.err
        assert f"Authorization: Bearer {'KEY' if said is english else 'CLAVE'}" in said.err
        assert "PREGON_KEY" in said.err
    assert "nobody can show it again" in english.err
    assert "only who presents a key of mides may act as that producer" in english.err
    assert "nadie puede volver a mostrarla" in spanish.err
    assert "vencen dentro de 24h" in spanish.err


def test_a_name_with_a_key_is_only_for_who_presents_it(hub: HubProcess, topic: str) -> None:
    run("topic", "create", topic, hub=hub.url)
    run("producer", "create", "impo", hub=hub.url)
    key = make("key", "create", "producer", "impo", hub=hub.url)

    nobody = run("publish", topic, "x", "--producer", "impo", "--json", hub=hub.url)
    wrong = run("publish", topic, "x", "--producer", "impo", "--json", hub=hub.url, key=key[:-1] + "~")
    right = run("publish", topic, "x", "--producer", "impo", "--json", hub=hub.url, key=key)
    lines = run("publish", topic, "--producer", "impo", "--json", hub=hub.url, key=key, stdin="y\nz\n")
    over_http = run("publish", topic, "x", "--producer", "impo", "--json", hub=f"http://{hub.addresses.http}", key=key)

    assert [(said.status, said.error["code"]) for said in (nobody, wrong)] == [(7, "unauthorized")] * 2
    assert right.row["seq"] == 1
    assert lines.row["last_seq"] == 3
    assert over_http.row["seq"] == 4


def test_a_rotation_lets_the_old_key_end_when_it_was_told_to(hub: HubProcess, topic: str) -> None:
    run("topic", "create", topic, hub=hub.url)
    run("producer", "create", "ute", hub=hub.url)
    first = make("key", "create", "producer", "ute", hub=hub.url)
    second = make("key", "create", "producer", "ute", "--overlap", "24h", hub=hub.url)
    meanwhile = [run("publish", topic, "x", "--producer", "ute", hub=hub.url, key=key) for key in (first, second)]
    listed = run("key", "list", "producer", "ute", "--json", hub=hub.url).rows
    rows = sorted(listed, key=lambda row: row["created_us"])

    third = make("key", "create", "producer", "ute", "--overlap", "0s", hub=hub.url)
    after = [run("publish", topic, "x", "--producer", "ute", hub=hub.url, key=key) for key in (first, second, third)]

    assert [said.status for said in meanwhile] == [0, 0]
    assert [row["id"] for row in rows] == [id_of(first), id_of(second)]
    assert rows[0]["expires_us"] - rows[1]["created_us"] == 86_400_000_000
    assert rows[1]["expires_us"] is None
    assert [said.status for said in after] == [7, 7, 0]


def test_the_limits_of_a_key_are_kept(hub: HubProcess, topic: str) -> None:
    run("topic", "create", topic, hub=hub.url)
    run("producer", "create", "ose", hub=hub.url)
    small = make("key", "create", "producer", "ose", "--body-bytes-max", "10", hub=hub.url)
    slow = make("key", "create", "producer", "ose", "--requests-per-s", "1", hub=hub.url)
    short = make("key", "create", "producer", "ose", "--lifetime", "1ms", hub=hub.url)

    large = run("publish", topic, "longer than ten", "--producer", "ose", "--json", hub=hub.url, key=small)
    expired = run("publish", topic, "x", "--producer", "ose", "--json", hub=hub.url, key=short)
    # The client waits and asks again by itself; one that has no time for that is told.
    with hub.client(producer="ose", key=slow, timeout_ms=500) as client, pytest.raises(RateLimited) as often:
        for _ in range(100):
            client.publish(topic, "x")

    assert (large.status, large.error["code"]) == (2, "too_large")
    assert (expired.status, expired.error["code"]) == (7, "unauthorized")
    assert "1 times a second" in str(often.value)


def test_a_key_that_makes_no_sense_is_refused(hub: HubProcess) -> None:
    run("producer", "create", "ancap", hub=hub.url)
    create = ["key", "create", "producer", "ancap", "--json"]

    said: list[tuple[Said, int, str]] = [
        (run("key", "create", "producer", "absent", "--json", hub=hub.url), 3, "not_found"),
        (run("key", "create", "producer", "no name", "--json", hub=hub.url), 2, "bad_name"),
        (run(*create, "--requests-per-s", "0", hub=hub.url), 2, "bad_request"),
        (run(*create, "--body-bytes-max", "1GiB", hub=hub.url), 2, "bad_request"),
        (run(*create, "--lifetime", "a while", hub=hub.url), 2, "bad_request"),
        (run(*create, "--label", "x" * 1_001, hub=hub.url), 2, "bad_request"),
    ]
    wrong_use = [
        run("key", "create", "robot", "ancap", hub=hub.url),
        run("token", "create", "ana", hub=hub.url),
        run("token", "create", "ana", "--scope", "everything", hub=hub.url),
    ]

    assert [one.status for one, _, _ in said] == [status for _, status, _ in said]
    assert [one.error["code"] for one, _, _ in said] == [code for _, _, code in said]
    assert [one.status for one in wrong_use] == [2, 2, 2]
    assert all("Usage" in one.err for one in wrong_use)
    assert run("key", "list", "producer", "ancap", "--json", hub=hub.url).rows == []


def test_a_hub_with_an_administrator_does_for_each_token_what_its_scopes_say(make_hub: MakeHub) -> None:
    hub = make_hub().start()
    run("topic", "create", "novedades", hub=hub.url)
    run("subscription", "create", "novedades", "bps", hub=hub.url)
    run("key", "create", "subscriber", "bps", hub=hub.url)
    admin = make("token", "create", "ana", "--scope", "admin", hub=hub.url)
    operate = make("token", "create", "guardia", "--scope", "operate", hub=hub.url, key=admin)
    read = make("token", "create", "grafana", "--scope", "read", "--label", "tablero", hub=hub.url, key=admin)
    asked = [
        ["topic", "create", "otras", "--json"],
        ["token", "list", "--json"],
        ["subscription", "unpark", "novedades", "bps", "--json"],
        ["topic", "list", "--json"],
    ]

    statuses = {
        name: [run(*command, hub=hub.url, key=key).status for command in asked]
        for name, key in {"admin": admin, "operate": operate, "read": read, "nobody": None}.items()
    }
    tokens = run("token", "list", hub=hub.url, key=admin)
    of_one = run("token", "list", "grafana", "--json", hub=hub.url, key=admin)

    assert statuses["admin"] == [0, 0, 0, 0]
    assert statuses["operate"] == [2, 2, 0, 0]
    assert statuses["read"] == [2, 2, 2, 0]
    assert statuses["nobody"] == [7, 7, 7, 7]
    assert [line.split()[0] for line in tokens.out.splitlines()] == ["owner", "ana", "grafana", "guardia"]
    assert (of_one.row["id"], of_one.row["scopes"], of_one.row["label"]) == (id_of(read), ["read"], "tablero")


def test_the_last_administrator_is_replaced_but_not_revoked(make_hub: MakeHub) -> None:
    hub = make_hub().start()
    admin = make("token", "create", "ana", "--scope", "admin", "--scope", "read", hub=hub.url)
    revoke = ["token", "revoke", "ana", id_of(admin)]

    last = run(*revoke, "--json", hub=hub.url, key=admin)
    other = make("token", "create", "luis", "--scope", "admin", hub=hub.url, key=admin)
    of_another = run("token", "revoke", "luis", id_of(admin), "--json", hub=hub.url, key=admin)
    one_of_two = run(*revoke, hub=hub.url, key=other, PREGON_LANG="es")
    ended = run("topic", "list", hub=hub.url, key=admin)
    hub.stop()
    in_the_directory = run("token", "revoke", "luis", id_of(other), "--json", "--data", hub.data)

    assert (last.status, last.error["code"]) == (2, "limit_reached")
    assert (of_another.status, of_another.error["code"]) == (3, "not_found")
    assert one_of_two.out == f"token ana: clave {id_of(admin)} revocada\n"
    assert ended.status == 7
    assert (in_the_directory.status, in_the_directory.error["code"]) == (2, "limit_reached")


# In the directory of a hub that is not running.


def test_the_first_administrator_is_made_before_the_first_start(make_hub: MakeHub) -> None:
    hub = make_hub()

    admin = make("token", "create", "admin", "--scope", "admin", "--data", hub.data)
    hub.start()
    nobody = run("topic", "list", hub=hub.url)
    somebody = run("topic", "list", hub=hub.url, key=admin)

    assert hub.data.stat().st_mode & 0o777 == 0o700
    assert (nobody.status, somebody.status) == (7, 0)


def test_keys_are_made_listed_and_revoked_in_a_directory(make_hub: MakeHub) -> None:
    hub = make_hub().start()
    run("producer", "create", "dgrec", hub=hub.url)
    hub.stop()

    made = run("key", "create", "producer", "dgrec", "--lifetime", "90d", "--json", "--data", hub.data).row
    listed = run("key", "list", "producer", "dgrec", "--json", "--data", hub.data).row
    hub.start()
    at_the_hub = run("key", "list", "producer", "dgrec", "--json", hub=hub.url).row
    hub.stop()
    revoked = run("key", "revoke", "producer", "dgrec", made["id"], "--data", hub.data)
    gone = run("key", "revoke", "producer", "dgrec", made["id"], "--json", "--data", hub.data)

    secret = made.pop("secret")
    assert secret
    assert listed == at_the_hub == made
    assert revoked.status == 0
    assert (gone.status, gone.error["code"]) == (3, "not_found")
    with open_hub(hub.data) as stored:
        assert stored.list_keys("producer", "dgrec").result() == []


def test_the_directory_of_a_running_hub_is_refused(make_hub: MakeHub) -> None:
    hub = make_hub().start()

    said = [
        run("token", "create", "admin", "--scope", "admin", "--json", "--data", hub.data),
        run("token", "list", "--json", "--data", hub.data),
        run("token", "revoke", "admin", "0" * 12, "--json", "--data", hub.data),
        run("key", "list", "producer", "x", "--json", "--data", hub.data),
    ]

    assert [(one.status, one.error["code"]) for one in said] == [(4, "data_directory_in_use")] * 4
    assert hub.is_alive
    assert run("topic", "list", hub=hub.url).status == 0, "the hub is open as before"


def test_only_the_first_token_makes_a_directory(tmp_path: Path) -> None:
    absent = tmp_path / "absent"

    said = [
        run("token", "list", "--json", "--data", absent),
        run("token", "revoke", "admin", "0" * 12, "--json", "--data", absent),
        run("key", "create", "producer", "dgrec", "--json", "--data", absent),
        run("key", "list", "producer", "dgrec", "--json", "--data", absent),
    ]
    both = run("token", "list", "--json", "--data", absent, "--hub", "tcp://127.0.0.1:1")

    assert [(one.status, one.error["code"]) for one in said] == [(3, "not_found")] * 4
    assert (both.status, both.error["code"]) == (2, "bad_request")
    assert not absent.exists()


def test_a_directory_is_given_back_whatever_happened(make_hub: MakeHub) -> None:
    hub = make_hub()
    make("token", "create", "admin", "--scope", "admin", "--data", hub.data)

    refused = run("key", "create", "producer", "absent", "--data", hub.data)
    hub.start()
    left = hub.stop(signal.SIGTERM)

    assert refused.status == 3
    assert left == 0
    assert sorted(os.listdir(hub.data)) == ["pregon.db", "pregon.lock"]


def test_a_hub_over_http_makes_keys_too(make_hub: MakeHub) -> None:
    hub = make_hub().start()
    url = f"http://{hub.addresses.http}"

    admin = make("token", "create", "admin", "--scope", "admin", hub=url)
    rows = run("token", "list", "--json", "--hub", url, key=admin).rows
    with Client(url, key=admin) as client:
        told = client.list("key", names=["token", "admin"])

    assert [row["id"] for row in rows] == [row["id"] for row in told] == [id_of(admin)]
