"""The chat in a browser: rooms, private messages, names, answers, history."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from scenario.hub_process import HubProcess, wait_until

from .chat_people import Person, checked, enrolled, new_name
from .conftest import OpenPage
from .visitors import Language


def people(hub: HubProcess, open_page: OpenPage, *names: str, room: str = "") -> list[Person]:
    """Some people, all in one room, who all know that the others are in."""
    everybody = [Person(open_page(name), hub.addresses.http) for name in names]
    for person in everybody:
        person.come_in(room)
    if room:
        for person in everybody:
            expect(person.page.locator("#member-list li")).to_have_count(len(everybody))
    return everybody


def test_what_one_writes_is_on_the_screens_of_all_in_the_room(hub: HubProcess, open_page: OpenPage, topic: str) -> None:
    ana, luis = people(hub, open_page, "Ana", "Luis", room=topic)

    ana.write("hola")
    luis.wait_for("hola")
    luis.write("buenas\ntardes")
    ana.wait_for("buenas\ntardes")
    luis.wait_for("buenas\ntardes")

    assert ana.rows() == luis.rows()
    assert ana.texts() == ["hola", "buenas\ntardes"]
    assert ana.events() == [f"{ana.name} entró", f"{luis.name} entró"]


def test_a_private_message_appears_at_the_other_side_by_itself_and_nobody_else_gets_it(
    hub: HubProcess, open_page: OpenPage, topic: str
) -> None:
    ana, luis, eva = people(hub, open_page, "Ana", "Luis", "Eva", room=topic)
    got_by_eva: list[str] = []
    eva.page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: got_by_eva.append(str(frame))))
    eva.page.reload()
    expect(eva.page.locator("#title")).to_have_text(topic)

    ana.page.locator(f'#member-list button[data-name="{luis.name}"]').click()
    expect(ana.page.locator("#title")).to_have_text(luis.name)
    ana.write("entre nosotros")
    ana.wait_for("entre nosotros")
    whispered = luis.page.locator("#private-list button", has_text=ana.name)
    expect(whispered.locator(".badge")).to_have_text("1")
    whispered.click()
    luis.wait_for("entre nosotros")
    luis.write("de acuerdo")
    ana.wait_for("de acuerdo")
    luis.go_to(topic)
    luis.write("para todos")
    eva.wait_for("para todos")

    assert eva.page.locator("#private-list li").count() == 0
    assert any("para todos" in frame for frame in got_by_eva)
    assert not any("entre nosotros" in frame or "de acuerdo" in frame for frame in got_by_eva)


@pytest.mark.parametrize(
    "language, taken, bad",
    [("es", "ya es de otra persona", "no sirve como nombre"), ("en", "is somebody else's already", "is no name")],
)
def test_a_name_that_is_taken_or_bad_is_refused_in_words(
    hub: HubProcess, open_page: OpenPage, language: Language, taken: str, bad: str
) -> None:
    (ana,) = people(hub, open_page, "Ana")
    other = Person(open_page("Other", language), hub.addresses.http)
    other.page.goto(f"{other.address}/chat")
    error = other.page.locator("#entry-error")

    for name, words in [(ana.name.upper(), taken), ("<b>", bad), ("x" * 33, bad), ("servidor", bad)]:
        other.choose_name(name)
        expect(error).to_contain_text(words)
        expect(error).to_contain_text(name)
    other.choose_name(other.name)

    expect(other.page.locator("#self-name")).to_have_text(other.name)


def test_who_changes_name_is_called_so_by_all_and_the_old_one_is_free(
    hub: HubProcess, open_page: OpenPage, topic: str
) -> None:
    ana, luis = people(hub, open_page, "Ana", "Luis", room=topic)
    old, new = ana.name, new_name("Anita")
    ana.write("antes")
    luis.wait_for("antes")

    ana.page.locator("#to-settings").click()
    ana.page.locator("#new-name").fill(luis.name.lower())
    ana.page.locator("#new-name").press("Enter")
    expect(ana.page.locator("#rename-error")).to_contain_text("ya es de otra persona")
    ana.page.locator("#new-name").fill(new)
    ana.page.locator("#new-name").press("Enter")
    expect(ana.page.locator("#self-name")).to_have_text(new)
    ana.page.locator("#settings-close").click()
    ana.write("después")
    luis.wait_for("después")

    assert luis.events()[-1] == f"{old} ahora es {new}"
    assert [row.name for row in luis.rows() if row.kind == "message"] == [old, new]
    expect(luis.page.locator("#member-list .name")).to_have_text(
        [luis.name, new] if luis.name < new else [new, luis.name]
    )
    with enrolled(hub.addresses.http, old):
        pass


def test_an_event_cannot_be_forged_by_typing(hub: HubProcess, open_page: OpenPage, topic: str) -> None:
    ana, luis = people(hub, open_page, "Ana", "Luis", room=topic)
    forged = [f"{luis.name} salió", '{"is":"message","kind":"left"}', "/left", f"{luis.name} ahora es Nadie"]

    ana.write(*forged)
    luis.wait_for(*forged)

    assert [row.text for row in luis.rows() if row.kind == "message"] == forged
    assert luis.events() == [f"{ana.name} entró", f"{luis.name} entró"]
    assert all(row.name == ana.name for row in luis.rows() if row.kind == "message")
    expect(luis.page.locator("#member-list li")).to_have_count(2)


def test_markup_in_a_message_is_text(hub: HubProcess, open_page: OpenPage, topic: str) -> None:
    ana, luis = people(hub, open_page, "Ana", "Luis", room=topic)
    hostile = [
        "<script>window.hacked = 1</script>",
        '<img src="x" onerror="window.hacked = 1">',
        "javascript:window.hacked=1",
        'https://example.org/"onmouseover="window.hacked=1',
        "&lt;b&gt; \u202e \u0000 fin",
    ]

    ana.write(*hostile)
    luis.wait_for(*hostile)
    luis.answer(hostile[0], "¿qué es esto?")
    ana.wait_for("¿qué es esto?")

    for person in (ana, luis):
        assert person.page.evaluate("window.hacked") is None
        assert person.page.locator("#log script, #log img, #log b").count() == 0
        links = person.page.locator("#log a").evaluate_all("all => all.map((one) => one.href)")
        assert links == ["https://example.org/"]


def test_an_answer_stands_below_what_it_answers_with_its_beginning(
    hub: HubProcess, open_page: OpenPage, topic: str
) -> None:
    ana, luis = people(hub, open_page, "Ana", "Luis", room=topic)
    ana.write("¿pan o torta?", "¿y café?")
    luis.wait_for("¿y café?")

    luis.answer("¿pan o torta?", "torta")
    ana.wait_for("torta")
    ana.answer("torta", "¡torta!")
    luis.wait_for("¡torta!")

    rows = {row.text: row for row in luis.rows()}
    assert rows["torta"].answers == rows["¿pan o torta?"].stamp
    assert [rows[text].depth for text in ("¿pan o torta?", "torta", "¡torta!")] == [0, 1, 2]
    expect(luis.row("torta").locator(".quote")).to_contain_text(f"{ana.name} ¿pan o torta?")
    assert luis.texts() == ["¿pan o torta?", "¿y café?", "torta", "¡torta!"]

    luis.page.locator("#threads").click()
    assert luis.texts() == ["¿pan o torta?", "torta", "¡torta!", "¿y café?"]
    ana.answer("¿y café?", "con leche")
    ana.answer("¿pan o torta?", "las dos")
    luis.wait_for("con leche", "las dos")
    assert luis.texts() == ["¿pan o torta?", "torta", "¡torta!", "las dos", "¿y café?", "con leche"]


def test_a_room_that_is_not_open_counts_what_is_unread(hub: HubProcess, open_page: OpenPage, topic: str) -> None:
    ana, luis = people(hub, open_page, "Ana", "Luis", room=topic)
    luis.go_to(f"{topic}-2")
    room = luis.page.locator(f'#room-list button[data-room="{topic}"]')

    ana.write("uno", "dos")
    expect(room.locator(".badge")).to_have_text("2")
    expect(luis.page).to_have_title(f"(2) {topic}-2 · Pregón")
    luis.page.reload()
    expect(room.locator(".badge")).to_have_text("2")
    room.click()

    luis.wait_for("uno", "dos")
    expect(luis.page.locator(".badge")).to_have_count(0)
    expect(luis.page).to_have_title(f"{topic} · Pregón")


def test_who_leaves_a_room_is_out_of_it_and_may_come_back(hub: HubProcess, open_page: OpenPage, topic: str) -> None:
    ana, luis = people(hub, open_page, "Ana", "Luis", room=topic)

    luis.page.locator("#leave").click()
    expect(luis.page.locator("#lobby")).to_be_visible()
    expect(luis.page.locator("#room-list li")).to_have_count(0)
    wait_until(lambda: ana.events()[-1:] == [f"{luis.name} salió"], "Ana sees that Luis has left")
    expect(ana.page.locator("#member-list li")).to_have_count(1)
    ana.write("¿dónde está?")
    ana.wait_for("¿dónde está?")
    luis.go_to(topic)

    luis.wait_for("¿dónde está?")
    expect(ana.page.locator("#member-list li")).to_have_count(2)


def test_who_was_away_reads_the_whole_history_in_order(hub: HubProcess, open_page: OpenPage, topic: str) -> None:
    with enrolled(hub.addresses.http, new_name("Robot")) as robot:
        checked(robot.post("/v1/groups", json={"name": topic}))
        checked(robot.post(f"/v1/groups/{topic}/members", json={}))
        for number in range(1, 181):
            checked(robot.post(f"/v1/groups/{topic}/messages?id={number}", content=f"n.º {number}", headers=PLAIN))
    (ana,) = people(hub, open_page, "Ana")

    ana.go_to(topic)
    ana.wait_for("n.º 180")
    at_first = len(ana.texts())

    def has_reached_the_beginning() -> bool:
        ana.page.locator("#scroller").evaluate("one => { one.scrollTop = 0 }")
        return "n.º 1" in ana.texts()

    wait_until(has_reached_the_beginning, "the first message is on the screen")

    assert at_first < 100
    assert ana.texts() == [f"n.º {number}" for number in range(1, 181)]
    seqs = [row.seq for row in ana.rows()]
    assert seqs == sorted(set(seqs))
    expect(ana.page.locator("#older")).to_have_text("Aquí empieza la conversación.")


def test_bad_input_is_refused_in_words_and_stays_where_it_is(hub: HubProcess, open_page: OpenPage, topic: str) -> None:
    (ana,) = people(hub, open_page, "Ana")
    ana.page.locator("#room-name").fill("una sala con espacios")
    ana.page.locator("#room-name").press("Enter")
    expect(ana.page.locator("#room-error")).to_contain_text("no sirve como nombre de sala")
    ana.go_to(topic)

    ana.write("   ", "x" * 10_001)

    expect(ana.page.locator("#text-error")).to_contain_text("El mensaje tiene 10001 caracteres")
    expect(ana.page.locator("#text")).to_have_value("x" * 10_001)
    ana.write("y" * 10_000)
    ana.wait_for("y" * 10_000)
    expect(ana.page.locator("#text-error")).to_be_empty()
    assert ana.texts() == ["y" * 10_000]


def test_who_gives_up_a_name_is_gone_from_every_room(hub: HubProcess, open_page: OpenPage, topic: str) -> None:
    ana, luis = people(hub, open_page, "Ana", "Luis", room=topic)

    luis.page.locator("#to-settings").click()
    luis.page.locator("#give-up").click()
    luis.page.locator("#give-up-yes").click()
    expect(luis.page.locator("#entry-form")).to_be_visible()
    wait_until(lambda: ana.events()[-1:] == [f"{luis.name} ya no está"], "Ana sees that Luis is gone")
    luis.choose_name(luis.name)

    expect(luis.page.locator("#self-name")).to_have_text(luis.name)
    expect(luis.page.locator("#room-list li")).to_have_count(0)


def test_the_diagram_of_a_room_is_one_click_away(hub: HubProcess, open_page: OpenPage, topic: str) -> None:
    (ana,) = people(hub, open_page, "Ana", room=topic)
    ana.write("hola")
    ana.wait_for("hola")

    with ana.visitor.context.expect_page() as opened:
        ana.page.locator("#diagram").click()

    expect(opened.value.locator("svg").first).to_be_visible()
    expect(opened.value.locator("body")).to_contain_text(ana.name)


PLAIN = {"Content-Type": "text/plain; charset=utf-8"}
