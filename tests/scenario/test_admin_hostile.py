"""What strangers and hostile clients send to the administration pages: bounded, refused in words, in nobody's way."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from pregon.limits import ADMIN_PAGES_AT_ONCE_MAX
from pregon.testing import RunningHub, run_hub

PASSWORD = "a sentence that is long"
FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def hub() -> Iterator[RunningHub]:
    """A hub that ana may enter."""
    with run_hub() as running:
        people = running.server.gate.people
        link = people.make_link()
        assert link is not None
        people.use_link(link, "ana", PASSWORD)
        yield running


@contextmanager
def enter(hub: RunningHub) -> Iterator[httpx.Client]:
    """A browser that has entered."""
    with httpx.Client(base_url=f"{hub.http}/admin/", timeout=60) as browser:
        browser.post("enter", data={"csrf": mark_of(browser.get("enter").text), "name": "ana", "password": PASSWORD})
        assert browser.get("topics").status_code == 200
        yield browser


def mark_of(page: str) -> str:
    """The mark of the forms of a page."""
    found = re.search(r'name="csrf" value="(\w+)"', page)
    assert found is not None
    return found.group(1)


def test_a_large_form_of_a_stranger_is_not_even_read(hub: RunningHub) -> None:
    with httpx.Client(base_url=f"{hub.http}/admin/") as stranger:
        large = stranger.post("enter", content=b"csrf=" + b"%41" * 100_000, headers=FORM)
        unknown = stranger.post("nowhere", content=b"x" * 1_000, headers=FORM)

    assert (large.status_code, unknown.status_code) == (413, 413)
    assert "text/html" in large.headers["content-type"]


def test_forms_that_are_sent_slowly_count_as_pages_that_are_made(hub: RunningHub) -> None:
    host, port = hub.http.removeprefix("http://").split(":")
    head = f"POST /admin/enter HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: {FORM['content-type']}\r\n"
    slow = [socket.create_connection((host, int(port))) for _ in range(ADMIN_PAGES_AT_ONCE_MAX)]
    for one in slow:
        one.sendall(f"{head}Content-Length: 10\r\n\r\ncsrf=".encode())
    # Once the last of them is being read, there is no room for another.
    statuses = set()
    for _ in range(200):
        statuses.add(httpx.get(f"{hub.http}/admin/enter").status_code)
        if 503 in statuses:
            break
    refused = httpx.get(f"{hub.http}/admin/enter")
    for one in slow:
        one.close()

    assert 503 in statuses
    assert refused.status_code == 503
    assert "too much to do" in refused.text
    for _ in range(500):
        if httpx.get(f"{hub.http}/admin/enter").status_code == 200:
            return
    pytest.fail("those who left still count")


@pytest.mark.parametrize("page", ["1" * 5_000, "-1", "0", "99999999", "x", "1e9"])
def test_a_page_of_a_list_that_is_no_number_is_the_first(hub: RunningHub, page: str) -> None:
    with enter(hub) as browser:
        answer = browser.get(f"topics?page={page}")

    assert answer.status_code == 200


def test_a_download_that_is_given_up_gives_back_what_it_held(hub: RunningHub) -> None:
    with hub.client() as client:
        for number in range(50):
            client.publish("taken-along", f"{number}")
    with enter(hub) as browser:
        for _ in range(40):
            with browser.stream("GET", "traces.csv") as answer:
                assert answer.status_code == 200
        whole = browser.get("traces.csv?topic=taken-along")

    assert whole.status_code == 200
    assert whole.text.count("taken-along") == 50
