"""`pregon topic`, `producer`, `subscriber`, `subscription` and `traces`: for people, and with `--json` for programs."""

from __future__ import annotations

from typing import Any

from pregon.client import Client

from .command_line import Said, run
from .hub_process import HubProcess


def ask(hub: HubProcess, *arguments: str) -> Any:
    """The JSON that a command answers with: a row, or several."""
    said = run(*arguments, "--json", hub=hub.url)
    assert said.status == 0, said.err
    return said.rows if len(said.rows) != 1 else said.row


def show(hub: HubProcess, *arguments: str) -> str:
    """What a command shows to people on a wide terminal, with the spaces between columns made one."""
    said = run(*arguments, hub=hub.url, COLUMNS="250")
    assert said.status == 0, said.err
    return "\n".join(" ".join(line.split()) for line in said.out.splitlines())


def test_a_topic_is_created_shown_changed_listed_and_deleted(hub: HubProcess, topic: str) -> None:
    limits = ["--keep", "30d", "--keep-bytes", "10GiB", "--forget-acknowledged"]

    created = ask(hub, "topic", "create", topic, "--description", "Defunciones", "--restricted", *limits)
    again = ask(hub, "topic", "create", topic, "--description", "Defunciones", "--restricted", *limits)
    other = run("topic", "create", topic, "--description", "Otra cosa", "--json", hub=hub.url)
    changed = ask(hub, "topic", "update", topic, "--open", "--keep", "12h")
    kept = ask(hub, "topic", "update", topic, "--keep-all")
    shown = show(hub, "topic", "show", topic)
    listed = show(hub, "topic", "list", "--after", topic[:-1], "--max", "1")
    unsure = run("topic", "delete", topic, hub=hub.url, stdin="n\n")
    deleted = run("topic", "delete", topic, "--yes", hub=hub.url)
    gone = run("topic", "delete", topic, "--yes", "--json", hub=hub.url)

    retention = {"age_ms": 30 * 86_400_000, "bytes_max": 10 * 1024**3, "when_acknowledged": True}
    assert (created["restricted"], created["retention"]) == (True, retention)
    assert again == created
    assert (other.status, other.error["code"]) == (2, "already_exists")
    assert (changed["restricted"], changed["retention"]) == (False, {**retention, "age_ms": 12 * 3_600_000})
    assert not any(kept["retention"].values())
    assert "description Defunciones" in shown
    assert listed.splitlines()[1].startswith(f"{topic} 0 1 0 no yes - Defunciones")
    assert unsure.status == 1
    assert deleted.out == f"topic {topic} deleted\n"
    assert (gone.status, gone.error["code"]) == (3, "not_found")


def test_a_producer_is_granted_a_restricted_topic(hub: HubProcess, topic: str) -> None:
    ask(hub, "topic", "create", topic, "--restricted")

    refused = run("publish", topic, "x", "--producer", "dgrec", "--json", hub=hub.url)
    created = ask(hub, "producer", "create", "dgrec-2", "--topic", topic, "--description", "Registro Civil")
    taken = ask(hub, "publish", topic, "x", "--producer", "dgrec-2")
    updated = ask(hub, "producer", "update", "dgrec-2", "--description", "Registro")
    listed = show(hub, "producer", "list", "--after", "dgrec-1", "--max", "1")
    shown = ask(hub, "producer", "show", "dgrec-2")
    deleted = show(hub, "producer", "delete", "dgrec-2")
    absent = run("producer", "show", "dgrec-2", hub=hub.url)

    assert (refused.status, refused.error["code"]) == (2, "forbidden")
    assert "pregon producer create dgrec --topic" in refused.error["message"]
    assert created["topics"] == [topic]
    assert taken["seq"] == 1
    assert (updated["description"], updated["topics"]) == ("Registro", [topic])
    assert listed.splitlines()[1].startswith(f"dgrec-2 yes {topic} 2")
    assert shown["name"] == "dgrec-2"
    assert deleted == "producer dgrec-2 deleted"
    assert absent.status == 3
    assert "not_found" in absent.err


def test_a_grant_that_the_refusal_advises_works(hub: HubProcess, topic: str) -> None:
    ask(hub, "topic", "create", topic, "--restricted")
    refused = run("publish", topic, "x", "--producer", "mides", "--json", hub=hub.url)
    advice = refused.error["message"].partition("`pregon ")[2].partition("`")[0].split()

    ask(hub, *advice)
    taken = ask(hub, "publish", topic, "x", "--producer", "mides")

    assert taken["seq"] == 1


def test_a_subscriber_is_created_listed_shown_and_deleted(hub: HubProcess) -> None:
    created = ask(hub, "subscriber", "create", "bps", "--description", "Previsión")
    listed = show(hub, "subscriber", "list")
    shown = show(hub, "subscriber", "show", "bps")
    deleted = run("subscriber", "delete", "bps", "--json", hub=hub.url)
    gone = run("subscriber", "delete", "bps", hub=hub.url)

    assert created["description"] == "Previsión"
    assert "Previsión" in listed
    assert "name bps" in shown
    assert (deleted.status, deleted.err) == (0, "")
    assert gone.status == 3
    assert "pregon subscriber list" in gone.err


def test_a_subscription_parks_unparks_and_replays(hub: HubProcess, client: Client, topic: str) -> None:
    for number in range(1, 6):
        client.publish(topic, str(number))
    of = [topic, "dgi"]

    ask(hub, "subscription", "create", *of, "--from", "2", "--pending-max", "100", "--pending-age", "30d")
    limits = ask(hub, "subscription", "update", *of, "--no-limits", "--pending-max", "7")
    parked = ask(hub, "subscription", "park", *of, "3", "4", "--reason", "bad XML")
    pulled = [row["seq"] for row in ask(hub, "pull", topic, "--as", "dgi")]
    aside = ask(hub, "subscription", "parked", *of)
    account = ask(hub, "subscription", "show", *of)
    unparked = show(hub, "subscription", "unpark", *of, "3")
    again = ask(hub, "pull", topic, "--as", "dgi")["seq"]
    replayed = show(hub, "subscription", "replay", *of, "--from", "5")
    since = ask(hub, "subscription", "replay", *of, "--since", "2020-01-01T00:00:00Z")
    listed = show(hub, "subscription", "list", "--topic", topic)
    deleted = show(hub, "subscription", "delete", *of)

    assert (limits["pending_max"], limits["pending_age_ms"]) == (7, None)
    assert parked == {"count": 2}
    assert pulled == [2, 5]
    assert [(row["seq"], row["reason"]) for row in aside] == [(3, "bad XML"), (4, "bad XML")]
    names = ("accepted", "acknowledged", "pending", "parked", "expired")
    assert [account[name] for name in names] == [4, 2, 0, 2, 0]
    assert (unparked, again) == ("1 message", 3)
    assert replayed == "the next message is 5"
    assert since == {"acked_seq": 0}
    assert listed.splitlines()[1].startswith(f"{topic} dgi")
    assert deleted == f"subscription {topic} dgi deleted"


def test_what_cannot_be_done_to_a_subscription_says_why(hub: HubProcess, client: Client, topic: str) -> None:
    client.publish(topic, "x")
    client.pull(topic, "dgi")
    refused: list[tuple[Said, int, str]] = [
        (run("subscription", "park", topic, "dgi", "9", "--json", hub=hub.url), 2, "not_pending"),
        (run("subscription", "replay", topic, "dgi", "--since", "yesterday", "--json", hub=hub.url), 2, "bad_request"),
        (run("subscription", "replay", topic, "dgi", "--json", hub=hub.url), 2, "bad_request"),
        (run("subscription", "create", topic, "x", "--from", "first", "--json", hub=hub.url), 2, "bad_request"),
        (run("subscription", "create", topic, "x", "--pending-age", "1y", "--json", hub=hub.url), 2, "bad_request"),
        (run("subscription", "show", topic, "nobody", "--json", hub=hub.url), 3, "not_found"),
        (run("subscription", "unpark", topic, "nobody", "--json", hub=hub.url), 3, "not_found"),
    ]

    assert [said.status for said, _, _ in refused] == [status for _, status, _ in refused]
    assert [said.error["code"] for said, _, _ in refused] == [code for _, _, code in refused]
    assert all(said.out == "" for said, _, _ in refused)


def test_traces_say_what_happened_to_a_message(hub: HubProcess, client: Client, topic: str) -> None:
    for _ in range(3):
        client.publish(topic, "x")
    client.pull(topic, "bps")
    client.ack(topic, "bps", 2)

    of_two = ask(hub, "traces", "--topic", topic, "--seq", "2")
    acknowledged = ask(hub, "traces", "--topic", topic, "--kind", "acknowledged", "--subscriber", "bps")
    nobody = run("traces", "--topic", topic, "--producer", "nobody", hub=hub.url)
    later = run("traces", "--topic", topic, "--since", "2099-01-01", "--json", hub=hub.url)
    people = show(hub, "traces", "--topic", topic, "--max", "1")
    wrong = run("traces", "--kind", "lost", "--json", hub=hub.url)
    timeless = run("traces", "--until", "soon", "--json", hub=hub.url)

    assert [row["kind"] for row in of_two] == ["acknowledged", "pulled", "accepted"]
    assert (acknowledged["first_seq"], acknowledged["last_seq"]) == (1, 2)
    assert nobody.out == "no traces\n"
    assert (later.status, later.out) == (0, "")
    assert f"acknowledged {topic} 1 2" in people
    assert (wrong.status, wrong.error["code"]) == (2, "bad_request")
    assert (timeless.status, timeless.error["code"]) == (2, "bad_request")
