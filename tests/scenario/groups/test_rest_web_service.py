"""A plain web service as a member: the group is pushed to it in causal order, and it answers with a request."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from urllib.parse import unquote

import httpx
import pytest

from pregon.testing import Received, Receiver, Reply

from ..conftest import MakeHub
from ..hub_process import wait_until
from ..rest import require_problem, rest_hub
from ..rest_push import make
from .rest_people import Person, texts

PUSH = {"delay_ms_first": 20, "delay_ms_max": 50}
_SOAP = re.compile(rb"<ps:group(\w+)>([^<]*)</ps:group")


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    """A client of a hub that may push to this machine."""
    with rest_hub(push_allow="127.0.0.1") as (_, http):
        yield http


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def web_service(http: httpx.Client, receiver: Receiver, format: str = "cloudevents") -> Person:
    """A participant that is a web service, and a member of the group `design`."""
    make(http, "cad-turbina", mode="push", endpoint=receiver.url, format=format, push=PUSH)
    service = Person(http, "turbina")
    joined = service.ask("POST", "/v1/groups/design/members", json={"subscriber": "cad-turbina"})
    assert joined.status_code == 201, joined.text
    return service


def members(http: httpx.Client) -> tuple[Person, Person]:
    """Two that are in the group."""
    ana, luis = Person(http, "ana"), Person(http, "luis")
    ana.create("design")
    ana.join("design")
    luis.join("design")
    return ana, luis


def control_of(pushed: Received, format: str) -> dict[str, str]:
    """What a push says of the order, whichever way it is written."""
    headers = pushed.headers
    if format == "soap":
        return {name.decode().lower(): value.decode() for name, value in _SOAP.findall(pushed.body)}
    prefix = "ce-pregongroup" if format == "cloudevents" else "pregon-header-group-"
    found = {name.removeprefix(prefix): unquote(value) for name, value in headers.items() if name.startswith(prefix)}
    return {**found, "sender": unquote(headers["ce-partitionkey" if format == "cloudevents" else "pregon-key"])}


def said(receiver: Receiver) -> list[str]:
    """What people said, in the order in which it was pushed."""
    return [one.body.decode() for one in receiver.received if one.headers["ce-pregongroupkind"] == "message"]


@pytest.mark.parametrize("format", ["cloudevents", "raw", "soap"])
def test_each_push_says_who_sent_it_and_on_what_it_depends(http: httpx.Client, receiver: Receiver, format: str) -> None:
    ana, luis = members(http)
    web_service(http, receiver, format)
    question = ana.say("design", "¿cuántas palas?", seen=6)
    answer = luis.say("design", "doce", seen=question["seq"], answers=question["stamp"])

    def controls() -> list[dict[str, str]]:
        return [control_of(one, format) for one in list(receiver.received)]

    wait_until(lambda: any(one.get("stamp") == answer["stamp"] for one in controls()), "the answer is pushed")
    found = {one["stamp"]: one for one in controls()}

    assert found[answer["stamp"]] == {
        "sender": "luis",
        "kind": "message",
        "stamp": answer["stamp"],
        "after": " ".join(answer["after"]),
        "answers": question["stamp"],
    }
    assert "answers" not in {name for name, value in found[question["stamp"]].items() if value}
    seen: set[str] = set()
    for one in controls():
        member, number = map(int, one["stamp"].split(":"))
        behind = {*one.get("after", "").split(), *([f"{member}:{number - 1}"] if number > 1 else [])}
        missing = {stamp for stamp in behind - seen if stamp in found}
        assert not missing, f"{one['stamp']} was pushed before {missing}"
        seen.add(one["stamp"])


def test_it_is_told_from_its_coming_on(http: httpx.Client, receiver: Receiver) -> None:
    ana, _ = members(http)
    ana.say("design", "before")
    web_service(http, receiver)
    ana.say("design", "after")

    wait_until(lambda: said(receiver), "it is pushed")

    assert said(receiver) == ["after"]
    assert control_of(receiver.received[0], "cloudevents")["kind"] == "joined"


def test_what_it_says_depends_on_what_was_pushed_to_it(http: httpx.Client, receiver: Receiver) -> None:
    ana, luis = members(http)
    service = web_service(http, receiver)
    question = ana.say("design", "¿cuántas palas?")
    wait_until(lambda: said(receiver) == ["¿cuántas palas?"], "the question is pushed")
    path = "/v1/topics/groups.design/subscriptions/cad-turbina/account"
    wait_until(lambda: http.get(path).json()["pending"] == 0, "it is written down that it was delivered")

    answer = service.say("design", "doce", answers=question["stamp"])

    assert question["stamp"] in answer["after"]
    assert luis.relation("design", question["stamp"], answer["stamp"]) == "before"
    assert texts(luis.read("design")) == ["¿cuántas palas?", "doce"]


def test_what_was_not_pushed_yet_is_not_depended_on(http: httpx.Client, receiver: Receiver) -> None:
    ana, luis = members(http)
    service = web_service(http, receiver)
    receiver.reply = Reply(503)
    question = ana.say("design", "¿cuántas palas?")

    remark = service.say("design", "no oigo nada")

    assert luis.relation("design", question["stamp"], remark["stamp"]) == "concurrent"


def test_a_service_that_fails_gets_everything_later_and_in_order(http: httpx.Client, receiver: Receiver) -> None:
    ana, _ = members(http)
    web_service(http, receiver)
    receiver.then(*[Reply(503) if number % 3 else Reply() for number in range(12)])
    for number in range(10):
        ana.say("design", str(number))

    def taken() -> list[str]:
        pushed = said(receiver)
        return [text for place, text in enumerate(pushed) if text not in pushed[:place]]

    wait_until(lambda: len(taken()) == 10, "all of it is pushed")
    assert taken() == [str(number) for number in range(10)]
    assert said(receiver) == sorted(said(receiver), key=int), "nothing was pushed before what came before it"


def test_two_services_answer_each_other_and_causes_come_first_for_both(http: httpx.Client) -> None:
    with Receiver() as first, Receiver() as second:
        ana, _ = members(http)
        services = []
        for name, receiver in (("design-1", first), ("design-2", second)):
            make(http, name, mode="push", endpoint=receiver.url, push=PUSH)
            services.append(Person(http, name.replace("-", " ")))
            services[-1].join("design", subscriber=name)
        rounds = 10

        def play(service: Person, receiver: Receiver, mine: int) -> None:
            for number in range(mine, rounds, 2):
                wait_until(lambda: str(number) in said(receiver), f"{number} is pushed")  # noqa: B023
                (asked,) = [one for one in receiver.received if one.body == str(number).encode()]
                seen = int(asked.headers["ce-pregonsequence"])
                service.say("design", str(number + 1), seen=seen, id=str(number))

        players = [
            threading.Thread(target=play, args=(services[0], first, 0)),
            threading.Thread(target=play, args=(services[1], second, 1)),
        ]
        for player in players:
            player.start()
        ana.say("design", "0")
        for player in players:
            player.join()
        expected = [str(number) for number in range(rounds + 1)]

        for receiver in (first, second):
            wait_until(lambda: len(said(receiver)) == rounds + 1, "all of it is pushed")  # noqa: B023
            assert said(receiver) == expected
        stamps = [one["stamp"] for one in ana.read("design") if one["kind"] == "message"]
        assert [ana.relation("design", stamps[0], stamp) for stamp in stamps[1:]] == ["before"] * rounds


def test_nothing_is_pushed_to_who_has_left(http: httpx.Client, receiver: Receiver) -> None:
    ana, _ = members(http)
    service = web_service(http, receiver)
    ana.say("design", "before")
    wait_until(lambda: said(receiver) == ["before"], "it is pushed")

    left = service.ask("DELETE", "/v1/groups/design/members/me")
    ana.say("design", "after")
    subscriptions = http.get("/v1/topics/groups.design/subscriptions").json()["items"]

    assert left.status_code == 204
    assert subscriptions == []
    assert said(receiver) == ["before"]


def test_a_subscriber_that_cannot_keep_an_order_or_is_not_there_is_no_member(
    http: httpx.Client, receiver: Receiver
) -> None:
    members(http)
    service = Person(http, "turbina")
    make(http, "hasty", mode="push", endpoint=receiver.url, push={"parallel": 4})

    hasty = service.ask("POST", "/v1/groups/design/members", json={"subscriber": "hasty"})
    nobody = service.ask("POST", "/v1/groups/design/members", json={"subscriber": "nobody"})
    nowhere = service.ask("POST", "/v1/groups/nowhere/members", json={"subscriber": "hasty"})

    assert "parallel" in require_problem(hasty, 400, "bad_request")
    require_problem(nobody, 404, "not_found")
    assert nowhere.status_code in (400, 404)
    assert service.groups()["groups"] == []


def test_a_hub_that_was_killed_goes_on_pushing_in_order(make_hub: MakeHub, receiver: Receiver) -> None:
    hub = make_hub(push_allow="127.0.0.1").start()
    with httpx.Client(base_url=f"http://{hub.addresses.http}", timeout=30) as http:
        ana, _ = members(http)
        web_service(http, receiver)
        for number in range(30):
            ana.say("design", str(number), id=str(number))
        wait_until(lambda: len(said(receiver)) > 5, "some is pushed")
        hub.kill()
        hub.start()
        ana.say("design", "29", id="29")
        ana.say("design", "30", id="30")
        wait_until(lambda: "30" in said(receiver), "the rest is pushed")

    pushed = said(receiver)
    first_time = [text for place, text in enumerate(pushed) if text not in pushed[:place]]
    assert first_time == [str(number) for number in range(31)]
    assert hub.bugs() == []
