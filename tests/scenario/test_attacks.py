"""Known attacks on the HTTP door while an honest client publishes: all are refused, and the client hardly notices.

The hub is a process of its own, so that its memory can be seen. Latencies are compared with those of the same client
before the attack, generously: the machine that runs the tests has other work too.
"""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from pregon.limits import HEADER_BYTES_MAX, MIB, REQUEST_BYTES_MAX

from .conftest import MakeHub
from .hub_process import HubProcess
from .soap_clients.plain import SOAP_11

MEMORY_MIB_MAX = 64
"""How much more an attacked hub may hold: the bodies under way are a part of it."""
SLOWER_MAX = 12
PAUSE_MS_MAX = 100
"""What is quick enough whatever it was before."""
TOPIC, HUNG_UP = "honest", 0
_QUIET_S = 0.15


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    hub = HubProcess(tmp_path_factory.mktemp("attacked") / "data").start()
    try:
        yield hub
        assert hub.bugs() == []
    finally:
        if hub.is_alive:
            hub.kill()


def memory_mib(hub: HubProcess, line: str) -> float:
    """What the hub holds now (VmRSS), or the most that it held since the peak was forgotten (VmHWM)."""
    found = re.search(rf"{line}:\s+(\d+)", Path(f"/proc/{hub.pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1_024


def dial(hub: HubProcess) -> socket.socket:
    """A connection to the HTTP door."""
    host, _, port = hub.addresses.http.partition(":")
    connection = socket.create_connection((host, int(port)), timeout=10)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def answer_to(hub: HubProcess, request: bytes, wait_s: float = 5.0) -> bytes:
    """What comes back until the hub hangs up, or has answered and says no more for a moment."""
    with dial(hub) as connection:
        connection.settimeout(wait_s)
        received = b""
        try:
            connection.sendall(request)
            while piece := connection.recv(65_536):
                received += piece
                connection.settimeout(_QUIET_S)
        except OSError:
            pass
        return received


def statuses(received: bytes) -> list[int]:
    """The statuses of all the answers in it."""
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)]


def latencies_ms(hub: HubProcess, is_over: Callable[[], bool] = lambda: True) -> list[float]:
    """How long honest publications take over one connection, sorted: some, and more until it is over."""
    request = head(f"/v1/topics/{TOPIC}/messages", "Content-Length: 5") + b"hello"
    took: list[float] = []
    with dial(hub) as connection:
        while len(took) < 40 or not is_over():
            begun = time.monotonic()
            connection.sendall(request)
            received = b""
            while b"}" not in received:
                piece = connection.recv(65_536)
                assert piece, received
                received += piece
            assert statuses(received) == [201], received
            took.append((time.monotonic() - begun) * 1_000)
            time.sleep(0.002)
    return sorted(took)


Attack = Callable[[HubProcess], list[int]]


@contextmanager
def under(attack: Attack, hub: HubProcess) -> Iterator[list[int]]:
    """The attack goes on, again and again, while the block runs; the statuses that it got."""
    got: list[int] = []
    failures: list[BaseException] = []
    stopping = threading.Event()

    def work() -> None:
        try:
            while not stopping.is_set():
                got.extend(attack(hub))
        except BaseException as error:  # Whatever it is, it is the test's to report, not the thread's to lose.
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        while not got and thread.is_alive():
            time.sleep(0.01)
        yield got
    finally:
        stopping.set()
        thread.join(60)
    assert not failures, failures


def head(path: str = f"/v1/topics/{TOPIC}/messages", *lines: str, method: str = "POST") -> bytes:
    """The head of a request."""
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


def soap_request(content: bytes) -> bytes:
    """An envelope on its way."""
    return head("/soap/novedades", "Content-Type: text/xml; charset=utf-8", f"Content-Length: {len(content)}") + content


def _enveloped(inside: str, doctype: str = "") -> bytes:
    said = "<ps:producer>evil</ps:producer><ps:topic>evil</ps:topic>"
    spaces = f'xmlns:e="{SOAP_11}" xmlns:ps="http://ps.agesic.gub.uy"'
    return f"{doctype}<e:Envelope {spaces}><e:Header>{said}</e:Header><e:Body>{inside}</e:Body></e:Envelope>".encode()


_LAUGHS = "".join(f'<!ENTITY l{number} "' + f"&l{number - 1};" * 10 + '">' for number in range(1, 10))
_BLOWN_UP = '<!DOCTYPE x [<!ENTITY a "' + "a" * 20_000 + '">]>'
_ATTRIBUTES = " ".join(f'a{number}="1"' for number in range(50_000))
_NAMESPACES = " ".join(f'xmlns:a{number}="urn:{number}"' for number in range(20_000))
XML_ATTACKS: dict[str, bytes] = {
    "billion laughs": _enveloped("<x>&l9;</x>", f'<!DOCTYPE x [<!ENTITY l0 "ha">{_LAUGHS}]>'),
    "quadratic blowup": _enveloped(f"<x>{'&a;' * 20_000}</x>", _BLOWN_UP),
    "a local file": _enveloped("<x>&f;</x>", '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>'),
    "another server": _enveloped("<x>&f;</x>", '<!DOCTYPE x [<!ENTITY f SYSTEM "http://127.0.0.1:9/x">]>'),
    "parameter entity": _enveloped("<x/>", '<!DOCTYPE x [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]>'),
    "an outer document type": _enveloped("<x/>", '<!DOCTYPE x SYSTEM "file:///etc/passwd">'),
    "very deep": _enveloped("<x>" * 50_000 + "</x>" * 50_000),
    "many attributes": _enveloped(f"<x {_ATTRIBUTES}/>"),
    "many namespaces": _enveloped(f"<x {_NAMESPACES}/>"),
    "many elements": _enveloped("<x/>" * 300_000),
    "unclosed": b"<" * 100_000,
    "hidden in another charset": _enveloped("<x>&f;</x>", '<!DOCTYPE x [<!ENTITY f "x">]>').decode().encode("utf-16"),
}


def attack_soap(hub: HubProcess) -> list[int]:
    """All of them, one after another."""
    return [status for content in XML_ATTACKS.values() for status in statuses(answer_to(hub, soap_request(content)))]


@pytest.mark.parametrize("what", list(XML_ATTACKS))
def test_a_hostile_document_is_refused_and_tells_nothing(target: HubProcess, what: str) -> None:
    before_ms = time.monotonic() * 1_000

    received = answer_to(target, soap_request(XML_ATTACKS[what]))

    assert statuses(received) in ([500], [400], [415]), received[:300]
    assert b"Fault>" in received
    assert b"root:" not in received
    assert time.monotonic() * 1_000 - before_ms < 3_000


CHUNKED = "Transfer-Encoding: chunked"
_OTHER = f"/v1/topics/{TOPIC}-x/messages"
SMUGGLED = head("/v1/topics/smuggled/messages", "Content-Length: 1") + b"x"
SHAPES: dict[str, bytes] = {
    "two ways to say the length": head(_OTHER, "Content-Length: 5", CHUNKED) + b"0\r\n\r\n" + SMUGGLED,
    "the other order": head(_OTHER, CHUNKED, "Content-Length: 5") + b"0\r\n\r\n" + SMUGGLED,
    "two lengths": head(_OTHER, "Content-Length: 0", "Content-Length: 99") + SMUGGLED,
    "a list of lengths": head(_OTHER, "Content-Length: 0, 99") + SMUGGLED,
    "a length with a sign": head(_OTHER, "Content-Length: +0") + SMUGGLED,
    "a negative length": head(_OTHER, "Content-Length: -1") + SMUGGLED,
    "an endless length": head(_OTHER, f"Content-Length: {'9' * 30}") + SMUGGLED,
    "another coding": head(_OTHER, "Transfer-Encoding: xchunked") + b"0\r\n\r\n" + SMUGGLED,
    "codings after chunked": head(_OTHER, f"{CHUNKED}, identity") + b"0\r\n\r\n" + SMUGGLED,
    "chunked twice": head(_OTHER, CHUNKED, "Transfer-Encoding: cow") + b"0\r\n\r\n" + SMUGGLED,
    "a space before the colon": head(_OTHER, "Content-Length : 0") + SMUGGLED,
    "a folded line": head(_OTHER, "X: a\r\n b", "Content-Length: 0") + SMUGGLED,
    "lines without returns": head(_OTHER).replace(b"\r\n", b"\n") + SMUGGLED,
    "a null in a header": head(_OTHER, "X: a\0b") + SMUGGLED,
    "a chunk of a size too large": head(_OTHER, CHUNKED) + b"f" * 20 + b"\r\n" + SMUGGLED,
    "a chunk of no size": head(_OTHER, CHUNKED) + b"zz\r\n" + SMUGGLED,
    "two hosts": head("/v1/topics", "Host: evil.example", method="GET") + SMUGGLED,
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + SMUGGLED,
}


@pytest.mark.parametrize("what", list(SHAPES))
def test_a_request_that_can_be_read_in_two_ways_is_read_in_none(target: HubProcess, what: str) -> None:
    received = answer_to(target, SHAPES[what])

    assert statuses(received) in ([400], [413], []), received[:300]
    with target.client() as client:
        assert {one["name"] for one in client.list("topic")} <= {TOPIC}


def test_what_follows_a_body_that_is_longer_than_it_says_is_no_request(target: HubProcess) -> None:
    topic = f"{TOPIC}-longer"
    longer = head(f"/v1/topics/{topic}/messages", "Content-Length: 5") + b"hello" + b"EXTRA BYTES\r\n\r\n"

    received = answer_to(target, longer)

    assert statuses(received)[-1] == 400
    with target.client() as client:
        client.publish(topic, "last")
        stored = [message.text for message in client.read(topic, 1)]
        client.delete("topic", topic)
    assert stored in (["hello", "last"], ["last"])


def test_trailers_are_no_headers(target: HubProcess) -> None:
    trailers = b"0\r\nPregon-Producer: evil\r\nAuthorization: Bearer evil\r\n\r\n"

    received = answer_to(target, head(f"/v1/topics/{TOPIC}/messages", CHUNKED) + b"5\r\nhello\r\n" + trailers)

    assert statuses(received) == [201]
    with target.client() as client:
        assert "evil" not in {one["name"] for one in client.list("producer")}


@pytest.mark.parametrize("origin", ["null", "", "http://evil.example", "http://localhost.evil.example", "file://"])
def test_a_page_of_another_site_is_not_served(target: HubProcess, origin: str) -> None:
    with_origin = head(f"/v1/topics/{TOPIC}/messages", f"Origin: {origin}", "Content-Length: 1") + b"x"
    rebound = with_origin.replace(f"Origin: {origin}".encode(), b"X: y").replace(
        b"Host: localhost", b"Host: evil.example"
    )

    received = [answer_to(target, one) for one in (with_origin, rebound)]

    assert [statuses(one) for one in received] == [[403], [403]]


def outcome(hub: HubProcess, request: bytes) -> list[int]:
    """The statuses of the answers, or that there was none."""
    return statuses(answer_to(hub, request)) or [HUNG_UP]


def attack_heads(hub: HubProcess) -> list[int]:
    """Heads that never seem to end."""
    request = b"GET %b HTTP/1.1\r\nHost: localhost\r\n%b\r\n\r\n"
    return [
        *outcome(hub, request % (b"/healthz", b"X: " + b"a" * (20 * MIB))),
        *outcome(hub, request % (b"/healthz", b"".join(b"X-%d: a\r\n" % number for number in range(200_000)))),
        *outcome(hub, request % (b"/" + b"a" * (20 * MIB), b"")),
    ]


def attack_bodies(hub: HubProcess) -> list[int]:
    """Bodies that are larger than they may be: said so, in pieces without saying so, in very many pieces."""
    endless = head("/soap/novedades", CHUNKED, "Content-Type: text/xml")
    return [
        *outcome(hub, head("/soap/novedades", f"Content-Length: {10**12}")),
        *outcome(hub, endless + b"100000\r\n%b\r\n" % bytes(MIB) * (REQUEST_BYTES_MAX // MIB + 4)),
        *outcome(hub, head(f"/v1/topics/{TOPIC}/batches", CHUNKED) + b"1\r\n{\r\n" * 200_000),
    ]


@contextmanager
def slow_ones(hub: HubProcess, count: int = 50) -> Iterator[None]:
    """Connections that send a byte of their request now and then."""
    with ExitStack() as stack:
        connections = [stack.enter_context(dial(hub)) for _ in range(count)]
        for number, connection in enumerate(connections):
            begun = head("/soap/novedades", "Content-Type: text/xml", f"Content-Length: {REQUEST_BYTES_MAX}")
            connection.sendall(begun if number % 2 else begun[:40])
        yield


def attack_slowly(hub: HubProcess) -> list[int]:
    """Fifty of them for a moment."""
    with slow_ones(hub):
        time.sleep(0.5)
    return [HUNG_UP]


ATTACKS: dict[str, tuple[Attack, set[int]]] = {
    "hostile XML": (attack_soap, {400, 415, 500}),
    "large heads": (attack_heads, {HUNG_UP, 400, 413, 431}),
    "large bodies": (attack_bodies, {HUNG_UP, 400, 413, 415}),
    "slow bodies": (attack_slowly, {HUNG_UP}),
}


@pytest.mark.parametrize("what", list(ATTACKS))
def test_an_honest_client_publishes_on_while_the_hub_is_attacked(target: HubProcess, what: str) -> None:
    attack, expected = ATTACKS[what]
    calm = latencies_ms(target)
    Path(f"/proc/{target.pid}/clear_refs").write_text("5")  # Forget the peak of whatever was before.
    before_mib = memory_mib(target, "VmRSS")

    with under(attack, target) as got:
        first_round = len(got)
        attacked = latencies_ms(target, lambda: len(got) > first_round)
    highest_mib = memory_mib(target, "VmHWM")

    assert set(got) <= expected
    for share in (0.5, 0.9):
        before_ms, during_ms = calm[int(len(calm) * share)], attacked[int(len(attacked) * share)]
        assert during_ms < max(SLOWER_MAX * before_ms, PAUSE_MS_MAX), (share, before_ms, during_ms, attacked[-1])
    assert highest_mib - before_mib < MEMORY_MIB_MAX, (before_mib, highest_mib)


def test_who_keeps_a_place_without_filling_it_is_hung_up_on(make_hub: MakeHub) -> None:
    hub = make_hub().start()
    with slow_ones(hub, 20), dial(hub) as silent, dial(hub) as half:
        half.sendall(head("/healthz", method="GET")[:20])
        begun = time.monotonic()
        silent.settimeout(20)
        half.settimeout(20)

        ends = [_until_hung_up(connection) for connection in (silent, half)]
        took_s = time.monotonic() - begun

    assert ends == [True, True]
    assert took_s < 16
    assert statuses(answer_to(hub, head("/healthz", method="GET"))) == [200]


def _until_hung_up(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def test_a_head_at_the_limit_is_read(target: HubProcess) -> None:
    large = head("/healthz", f"X: {'a' * (HEADER_BYTES_MAX - 2_000)}", method="GET")

    assert statuses(answer_to(target, large)) == [200]
