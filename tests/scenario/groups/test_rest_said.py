"""What is said in groups over REST: in which order, to whom, and what is refused."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from ..hub_process import wait_until
from ..rest import require_problem, rest_hub
from .rest_people import Person, texts

# What is said.


def test_an_answer_comes_after_what_its_sender_had_seen_and_nothing_else(
    people: tuple[Person, ...], group: str
) -> None:
    ana, luis, eva = people
    question = ana.say(group, "¿a qué hora?", seen=6)
    aside = eva.say(group, "hola", seen=6)
    answer = luis.say(group, "a las cinco", seen=question["seq"], answers=question["stamp"])

    read = {one["stamp"]: one for one in eva.read(group, after=6)}

    assert (question["after"], aside["after"]) == (["4:1"], []), "what one said oneself goes without saying"
    assert answer["after"] == [question["stamp"]]
    assert read[answer["stamp"]]["answers"] == question["stamp"]
    assert (read[answer["stamp"]]["name"], read[answer["stamp"]]["text"]) == (luis.name, "a las cinco")
    pairs = [(question, answer), (answer, question), (aside, answer), (answer, aside), (aside, aside)]
    assert [eva.relation(group, one["stamp"], other["stamp"]) for one, other in pairs] == [
        "before",
        "after",
        "concurrent",
        "concurrent",
        "same",
    ]


def test_a_message_sent_again_with_its_id_is_the_same(people: tuple[Person, ...], group: str) -> None:
    ana, luis, _ = people

    first = ana.try_to_say(group, "una vez", id="a/1 ñ")
    second = ana.try_to_say(group, "una vez", id="a/1 ñ")
    other = luis.try_to_say(group, "otra", id="a/1 ñ")

    assert [one.status_code for one in (first, second, other)] == [201, 200, 201]
    assert second.json() == {**first.json(), "duplicate": True}
    assert texts(ana.read(group)) == ["una vez", "otra"]


@pytest.mark.parametrize(
    ("body", "content_type", "shown"),
    [
        (b'{"a": [1]}', "application/json", {"json": {"a": [1]}}),
        ("señal".encode(), "text/plain; charset=utf-8", {"text": "señal"}),
        (b"\x00\xff", "", {"base64": "AP8="}),
        (b"", "text/plain", {"text": ""}),
        (b"{", "application/json", {"base64": "ew=="}),
    ],
)
def test_a_body_comes_back_as_it_was(
    people: tuple[Person, ...], group: str, body: bytes, content_type: str, shown: dict[str, Any]
) -> None:
    headers = {"Pregon-Header-Mood": "calm", **({"Content-Type": content_type} if content_type else {})}
    answer = people[0].ask("POST", f"/v1/groups/{group}/messages", content=body, headers=headers)

    (message,) = people[1].read(group, after=answer.json()["seq"] - 1)

    assert {name: message[name] for name in ("json", "text", "base64") if name in message} == shown
    assert message["content_type"] == (content_type or "application/octet-stream")
    assert message["headers"] == {"mood": "calm"}


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"seen": 999}, "bad_request"),
        ({"seen": -1}, "bad_request"),
        ({"answers": "x"}, "bad_request"),
        ({"answers": "9:9"}, "bad_request"),
        ({"id": "x" * 201}, "bad_request"),
        ({"kind": "joined"}, "bad_request"),
    ],
)
def test_what_cannot_be_said_is_refused(
    people: tuple[Person, ...], group: str, query: dict[str, Any], code: str
) -> None:
    answer = people[0].try_to_say(group, **query)

    assert answer.status_code in (400, 404), answer.text
    assert answer.json()["code"] in (code, "not_found")
    assert texts(people[0].read(group)) == []


def test_nobody_says_anything_in_a_group_but_its_members(
    http: httpx.Client, people: tuple[Person, ...], group: str
) -> None:
    forged = {"Pregon-Header-group-stamp": "2:2", "Pregon-Header-group-kind": "message"}

    around = http.post(f"/v1/topics/groups.{group}/messages", content=b"x", headers=forged)
    within = people[0].ask("POST", f"/v1/groups/{group}/messages", content=b"x", headers=forged)
    by_batch = http.post(f"/v1/topics/groups.{group}/batches", json={"messages": [{"text": "x"}]})

    assert around.status_code in (400, 403)
    assert by_batch.status_code in (400, 403)
    require_problem(within, 400, "bad_request")
    assert [one["kind"] for one in people[0].read(group)] == ["joining", "joined"] * 3


def test_a_reader_waits_for_what_is_said_next(people: tuple[Person, ...], group: str) -> None:
    ana, luis, _ = people
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(luis.read, group, after=6, wait_ms=20_000)
        wait_until(lambda: ana.http.get("/v1/status").json()["waiting"] >= 1, "somebody waits")
        ana.say(group, "ahora")

        assert texts(waiting.result(timeout=10)) == ["ahora"]


def test_what_was_seen_is_remembered(people: tuple[Person, ...], group: str) -> None:
    ana, luis, _ = people
    sent = ana.say(group, "uno", seen=6)

    luis.read(group, after=sent["seq"], seen=sent["seq"])
    wait_until(lambda: luis.groups()["groups"][0]["seen_seq"] == sent["seq"], "the hub knows what he has seen")
    answer = luis.say(group, "dos")

    assert answer["after"] == [sent["stamp"]]


def test_many_at_once_are_all_there_once_with_their_senders_order(people: tuple[Person, ...], group: str) -> None:
    count = 40

    def talk(person: Person) -> None:
        with httpx.Client(base_url=person.http.base_url, timeout=30) as http:
            for number in range(count):
                answer = http.post(
                    f"/v1/groups/{group}/messages",
                    params={"id": str(number)},
                    content=f"{person.name} {number}",
                    headers={"Pregon-Participant": person.token, "Content-Type": "text/plain"},
                )
                assert answer.status_code == 201, answer.text

    threads = [threading.Thread(target=talk, args=(person,)) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    read = people[0].read(group, after=6, max=1_000)
    seen: set[str] = {one["stamp"] for one in people[0].read(group, max=6)}

    assert sorted(texts(read)) == sorted(f"{person.name} {number}" for person in people for number in range(count))
    for message in read:
        member, number = map(int, message["stamp"].split(":"))
        assert f"{member}:{number - 1}" in seen, "a sender's messages are in their order"
        assert set(message["after"]) <= seen, "causes come first"
        seen.add(message["stamp"])


# Two alone.


def test_what_two_say_to_each_other_is_for_them_alone() -> None:
    with rest_hub() as (_, http):
        ana, luis, eva = (Person(http, name) for name in ("ana", "luis", "eva"))
        assert http.post("/v1/tokens", json={"name": "boss", "scopes": ["admin"]}).status_code == 201
        before = luis.groups()
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(luis.groups, version=before["version"], wait_ms=20_000)
            made = ana.ask("POST", "/v1/private", json={"with": "LUIS"}).json()
            told = waiting.result(timeout=25)
        ana.say(made["group"], "entre nosotros")

        again = luis.ask("POST", "/v1/private", json={"with": "ana"}).json()
        own = f"/v1/groups/{made['group']}"
        refused = {
            path: eva.ask(method, path).status_code
            for method, path in (
                ("GET", own),
                ("GET", f"{own}/messages"),
                ("GET", f"{own}/members"),
                ("GET", f"{own}/trace"),
                ("GET", f"/groups/{made['group']}/diagram"),
                ("GET", f"{own}/messages/1:1/relation?to=2:1"),
                ("POST", f"{own}/messages"),
                ("GET", f"/v1/topics/groups.{made['group']}/messages"),
            )
        }

        assert again["group"] == made["group"]
        assert [one["others"] for one in told["groups"]] == [["ana"]]
        assert texts(luis.read(made["group"])) == ["entre nosotros"]
        assert all(status in (401, 403, 404, 409) for status in refused.values()), refused
        assert eva.ask("POST", f"{own}/members").status_code in (403, 404)
        assert eva.ask("GET", "/v1/groups").json()["items"] == []
        assert [one["name"] for one in luis.ask("GET", "/v1/groups").json()["items"]] == [made["group"]]


@pytest.mark.parametrize(("with_", "status"), [("nobody at all", 404), ("", 400), ("x" * 33, 400)])
def test_nobody_talks_with_who_is_not_there(people: tuple[Person, ...], with_: str, status: int) -> None:
    assert people[0].ask("POST", "/v1/private", json={"with": with_}).status_code == status


def test_nobody_talks_with_oneself(people: tuple[Person, ...]) -> None:
    require_problem(people[0].ask("POST", "/v1/private", json={"with": people[0].name}), 400, "bad_request")


# To be seen.


def test_a_trace_and_its_drawing_say_what_was_said(people: tuple[Person, ...], group: str) -> None:
    ana, luis, _ = people
    sent = ana.say(group, "<script>alert(1)</script>")

    trace = luis.ask("GET", f"/v1/groups/{group}/trace").json()
    part = luis.ask("GET", f"/v1/groups/{group}/trace", params={"from": sent["seq"], "to": sent["seq"]}).json()
    page = luis.ask("GET", f"/groups/{group}/diagram", headers={"Accept-Language": "es-UY,es;q=0.9,en;q=0.8"})
    english = luis.ask("GET", f"/groups/{group}/diagram?lang=en&logical=true&theme=dark&width=600")
    picture = luis.ask("GET", f"/groups/{group}/diagram.svg")

    assert [one["stamp"] for one in trace["messages"]] == [one["stamp"] for one in luis.read(group)]
    assert [(one["seq"], one["accepted_at"][-1]) for one in part["messages"]] == [(sent["seq"], "Z")]
    assert (page.headers["content-type"], picture.headers["content-type"]) == (
        "text/html; charset=utf-8",
        "image/svg+xml",
    )
    assert '<html lang="es">' in page.text
    assert '<html lang="en">' in english.text
    assert picture.text.startswith("<svg")
    for drawn in (page, english, picture):
        assert "default-src 'none'" in drawn.headers["content-security-policy"]
        assert "<script>alert" not in drawn.text


@pytest.mark.parametrize("path", ["/v1/groups/nothing/trace", "/groups/nothing/diagram", "/groups/nothing/diagram.svg"])
def test_there_is_no_drawing_of_nothing(http: httpx.Client, path: str) -> None:
    require_problem(http.get(path), 404, "not_found")
    assert http.get(f"{path}?lang=fr").status_code == 400 or "trace" in path


@pytest.mark.parametrize("stamp", ["0:1", "x", "1", "1:", "1:1:1", "9" * 30 + ":1"])
def test_what_is_no_stamp_is_compared_with_nothing(people: tuple[Person, ...], group: str, stamp: str) -> None:
    first = people[0].ask("GET", f"/v1/groups/{group}/messages/{stamp}/relation", params={"to": "1:1"})
    second = people[0].ask("GET", f"/v1/groups/{group}/messages/1:1/relation", params={"to": stamp})

    require_problem(first, 400, "bad_request")
    require_problem(second, 400, "bad_request")


def test_the_address_of_the_socket_says_what_it_is(http: httpx.Client) -> None:
    assert "WebSocket" in require_problem(http.get("/v1/groups/socket"), 400, "bad_request")


def test_group_messages_are_seen_in_the_log_of_their_topic(
    http: httpx.Client, people: tuple[Person, ...], group: str
) -> None:
    sent = people[0].say(group, "hola")

    stored = http.get(f"/v1/topics/groups.{group}/messages/{sent['seq']}").json()

    assert (stored["key"], stored["text"], stored["headers"]["group-stamp"]) == (people[0].name, "hola", sent["stamp"])
    assert json.dumps(stored["headers"]["group-after"]) != "null"
