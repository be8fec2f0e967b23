"""The chat in a browser when the connection is lost or the hub is killed: nothing is lost, and nothing comes twice."""

from __future__ import annotations

import re

from playwright.sync_api import WebSocketRoute, expect
from scenario.conftest import MakeHub
from scenario.hub_process import HubProcess, wait_until

from .chat_people import NETWORK_IS_GONE, Person
from .conftest import MakeRelay, OpenPage


def sees_concurrent(person: Person, text: str) -> list[str]:
    """What the page marks as concurrent with a message."""
    person.mark(text)
    expect(person.row(text)).to_have_class(re.compile(r"\bchosen\b"))
    found = person.page.locator("#log .concurrent .text").all_text_contents()
    person.page.locator("#marking-end").click()
    expect(person.page.locator("#log .chosen")).to_have_count(0)
    return found


def check_causal_order(person: Person) -> None:
    """Each message once, in the order of the log, and no answer above what it answers."""
    rows = person.rows()
    seqs, stamps = [row.seq for row in rows], [row.stamp for row in rows]
    assert seqs == sorted(set(seqs))
    assert len(stamps) == len(set(stamps))
    for place, row in enumerate(rows):
        assert row.answers is None or stamps.index(row.answers) < place


def test_who_loses_the_connection_keeps_writing_and_comes_back_to_the_same_conversation(
    hub: HubProcess, open_page: OpenPage, make_relay: MakeRelay, topic: str
) -> None:
    relay = make_relay(hub.addresses.http)
    ana = Person(open_page("Ana"), relay.address).come_in(topic)
    luis, eva = (Person(open_page(name), hub.addresses.http).come_in(topic) for name in ("Luis", "Eva"))
    ana.visitor.allow(NETWORK_IS_GONE)
    everybody = (ana, luis, eva)
    luis.write("¿seguimos?")
    for person in everybody:
        person.wait_for("¿seguimos?")

    relay.cut()
    expect(ana.page.locator("#state")).to_contain_text("Sin conexión")
    luis.write("se cayó Ana")
    eva.wait_for("se cayó Ana")
    eva.answer("se cayó Ana", "ya vuelve")
    luis.wait_for("ya vuelve")
    ana.answer("¿seguimos?", "sí, sigo aquí")
    ana.write("¿me leen?")
    expect(ana.page.locator("#waiting-lines .line-state")).to_have_text(["se enviará al volver la conexión"] * 2)
    assert "sí, sigo aquí" not in luis.texts()
    relay.restore()
    for person in everybody:
        person.wait_for("se cayó Ana", "ya vuelve", "sí, sigo aquí", "¿me leen?")

    expect(ana.page.locator("#state")).to_be_hidden()
    for person in everybody:
        assert [row for row in person.rows() if row.kind == "message"] == [
            row for row in luis.rows() if row.kind == "message"
        ]
        assert len(person.texts()) == 5
        check_causal_order(person)
    # What Ana wrote without having seen the others' is concurrent with it, though it came later.
    assert sees_concurrent(eva, "ya vuelve") == ["sí, sigo aquí", "¿me leen?"]
    assert sees_concurrent(ana, "sí, sigo aquí") == ["se cayó Ana", "ya vuelve"]
    assert sees_concurrent(ana, "¿seguimos?") == []


def test_lines_that_wait_outlive_a_reload(
    hub: HubProcess, open_page: OpenPage, make_relay: MakeRelay, topic: str
) -> None:
    relay = make_relay(hub.addresses.http)
    ana = Person(open_page("Ana"), relay.address).come_in(topic)
    ana.visitor.allow(NETWORK_IS_GONE)
    ana.write("antes")
    ana.wait_for("antes")

    relay.cut()
    expect(ana.page.locator("#state")).to_be_visible()
    ana.write("uno", "dos")
    expect(ana.page.locator("#waiting-lines li")).to_have_count(2)
    relay.restore()
    ana.page.reload()
    ana.wait_for("uno", "dos")

    expect(ana.page.locator("#self-name")).to_have_text(ana.name)
    assert ana.texts() == ["antes", "uno", "dos"]


def test_a_line_that_was_taken_when_the_connection_broke_is_not_taken_twice(
    hub: HubProcess, open_page: OpenPage, topic: str
) -> None:
    ana = Person(open_page("Ana"), hub.addresses.http)
    connections: list[list[str]] = []

    def carry(page_side: WebSocketRoute) -> None:
        """The first connection breaks when the hub has taken a line, before the page is told."""
        hub_side, sent = page_side.connect_to_server(), []
        connections.append(sent)
        is_first = len(connections) == 1

        def to_hub(frame: str | bytes) -> None:
            sent.append(str(frame))
            hub_side.send(frame)

        def to_page(frame: str | bytes) -> None:
            if is_first and "una sola vez" in "".join(sent):
                if '"is":"accepted"' in str(frame):
                    page_side.close()
                return
            page_side.send(frame)

        page_side.on_message(to_hub)
        hub_side.on_message(to_page)

    ana.page.route_web_socket("**/v1/groups/socket", carry)
    ana.come_in(topic)
    ana.write("una sola vez", "y otra")
    ana.wait_for("una sola vez", "y otra")

    sent = [[frame for frame in frames if "una sola vez" in frame] for frames in connections]
    assert [len(frames) for frames in sent] == [1, 1]
    assert sent[0] == sent[1]
    assert ana.texts() == ["una sola vez", "y otra"]
    luis = Person(open_page("Luis"), hub.addresses.http).come_in(topic)
    luis.wait_for("y otra")
    assert luis.texts() == ["una sola vez", "y otra"]


def test_a_name_whose_confirmation_was_lost_is_not_lost(hub: HubProcess, open_page: OpenPage) -> None:
    ana = Person(open_page("Ana"), hub.addresses.http)
    hellos: list[str] = []

    def carry(page_side: WebSocketRoute) -> None:
        """Whoever says hello for the first time is given the name, and is not told."""
        hub_side = page_side.connect_to_server()
        is_first = not hellos

        def to_hub(frame: str | bytes) -> None:
            hellos.append(str(frame))
            hub_side.send(frame)

        def to_page(frame: str | bytes) -> None:
            if is_first:
                page_side.close()
            else:
                page_side.send(frame)

        page_side.on_message(to_hub)
        hub_side.on_message(to_page)

    ana.page.route_web_socket("**/v1/groups/socket", carry)
    ana.come_in()

    assert hellos[0] == hellos[1]


def test_what_is_below_the_screen_is_not_what_an_answer_depends_on(
    hub: HubProcess, open_page: OpenPage, topic: str
) -> None:
    ana, luis = (Person(open_page(name), hub.addresses.http).come_in(topic) for name in ("Ana", "Luis"))
    luis.write(*(f"línea {number}" for number in range(20)), "última")
    ana.wait_for("última")
    ana.page.locator("#scroller").evaluate("one => { one.scrollTop = 0 }")
    expect(ana.page.locator("#to-bottom")).to_be_visible()

    luis.write("abajo, sin que Ana lo vea")
    expect(ana.page.locator("#to-bottom")).to_have_text("1 mensaje nuevo")
    ana.write("sin haberlo visto")
    luis.wait_for("sin haberlo visto")
    ana.wait_for("sin haberlo visto")
    ana.write("después de haberlo visto")
    luis.wait_for("después de haberlo visto")

    assert sees_concurrent(luis, "abajo, sin que Ana lo vea") == ["sin haberlo visto"]


def test_a_hub_that_is_killed_in_mid_conversation_loses_and_doubles_nothing(
    make_hub: MakeHub, open_page: OpenPage
) -> None:
    hub = make_hub().start()
    everybody = [Person(open_page(name), hub.addresses.http).come_in("plaza") for name in ("Ana", "Luis", "Eva")]
    ana, luis, eva = everybody
    said: list[str] = []

    def write(person: Person, count: int) -> None:
        """As fast as the keys go, without waiting for anything."""
        texts = [f"{person.name}: {len(said) + number}" for number in range(count)]
        said.extend(texts)
        person.write(*texts)

    for person in everybody:
        person.visitor.allow(NETWORK_IS_GONE)
    ana.write("pregunta")
    for person in everybody:
        person.wait_for("pregunta")
    for person in everybody:
        write(person, 3)
    hub.kill()
    for person in everybody:
        write(person, 2)
    eva.answer("pregunta", "respuesta")
    expect(luis.page.locator("#state")).to_be_visible()
    hub.start()
    for person in everybody:
        write(person, 2)
    for person in everybody:
        person.wait_for("pregunta", "respuesta", *said)
    luis.answer("respuesta", "gracias")
    for person in everybody:
        person.wait_for("gracias")

    for person in everybody:
        assert sorted(person.texts()) == sorted([*said, "pregunta", "respuesta", "gracias"])
        check_causal_order(person)
        for name in (one.name for one in everybody):
            own = [text for text in person.texts() if text.startswith(f"{name}: ")]
            assert own == [text for text in said if text.startswith(f"{name}: ")]
    shown = [[row for row in person.rows() if row.kind == "message"] for person in everybody]
    assert shown[0] == shown[1] == shown[2]
    assert hub.bugs() == []


def test_a_line_that_falls_silent_is_given_up_for_another(
    hub: HubProcess, open_page: OpenPage, make_relay: MakeRelay, topic: str
) -> None:
    relay = make_relay(hub.addresses.http)
    ana = Person(open_page("Ana"), relay.address)
    ana.page.clock.install()
    ana.come_in(topic)
    luis = Person(open_page("Luis"), hub.addresses.http).come_in(topic)
    connections = relay.connections

    relay.hold()
    ana.page.clock.run_for(50_000)
    expect(ana.page.locator("#state")).to_contain_text("Sin conexión")
    luis.write("¿Ana?")
    relay.restore()

    def is_back() -> bool:
        ana.page.clock.run_for(1_000)
        return "¿Ana?" in ana.texts()

    wait_until(is_back, "Ana is back")
    assert relay.connections > connections
