"""The administration pages measured: how long each takes among ten million messages and traces, and what they cost.

A page's time is told beside the page where one enters, which asks the database nothing, on the same hub in the same
rounds; and beside the same page of a hub that has next to nothing. What twenty people cost who all look at the overview
is told as the rate of publishing while they look, beside the rate while nobody does, in turns.
"""

from __future__ import annotations

import multiprocessing
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing.synchronize import Event
from pathlib import Path
from statistics import median

import httpx

from pregon.bench import ours
from pregon.bench.hub_process import HubProcess
from pregon.bench.rounds import ROUNDS, Run, bodies, in_turns
from pregon.bench.trace_search import fill_traces
from pregon.store.database import SqliteDatabase
from pregon.store.migrate import migrate

STORED = 10_000_000
LIMIT_MS = 100.0
VIEWERS = 20
COST_PERCENT_MAX = 5.0
_NAME, _PASSWORD = "bench", "a sentence for the bench"
_TOPIC, _SUBSCRIBER = "topic-00", "subscriber-000"
_BEAT_S = 3.0
"""How often an open overview asks for its live part, as its script does."""
_ENTRY = "enter"
_PAGES = (
    "",
    "live/overview",
    "?span=day",
    "topics",
    f"topics/{_TOPIC}",
    "producers",
    "subscribers",
    f"subscribers/{_SUBSCRIBER}",
    "subscriptions",
    "subscriptions?sort=pending&down=1",
    f"subscriptions/{_TOPIC}/{_SUBSCRIBER}",
    "parked",
    "traces",
    f"traces?topic={_TOPIC}&subscriber={_SUBSCRIBER}",
    "traces?kind=failed",
    "traces?producer=producer-00&kind=delivered",
    f"traces?topic={_TOPIC}&seq=1000",
    f"messages/{_TOPIC}/1000",
    "services",
    "groups",
    "pipeline",
    "audit",
    "people",
)


def measure(run: Run) -> None:
    """The pages, then what looking at them costs."""
    count = run.plan.scaled(STORED)
    with ExitStack() as stack:
        hubs = {
            "full": stack.enter_context(_hub(run, run.folder("admin-full"), count)),
            "small": stack.enter_context(_hub(run, run.folder("admin-small"), 0)),
        }
        _time_pages(run, hubs, count)
    _weigh_viewers(run)


@contextmanager
def _hub(run: Run, directory: Path, count: int) -> Iterator[HubProcess]:
    """A hub with somebody who may enter, and with so many traces and messages."""
    database = SqliteDatabase(directory)
    migrate(database)
    if count:
        with database.connect() as connection:
            fill_traces(run, connection, count)
    database.close()
    _make_person(directory)
    with HubProcess(directory) as hub:
        with hub.client() as client:
            for number in range(20):
                client.create("subscriber", name=f"subscriber-{number:03}")
                client.create("subscription", topic=_TOPIC, subscriber=f"subscriber-{number:03}")
        messages = bodies(50_000)
        for _ in range(max(1, count // len(messages))):
            ours.publish(hub, _TOPIC, messages if count else messages[:2_000], 500, at_once=True)
        yield hub


def _make_person(directory: Path) -> None:
    command = [sys.executable, "-m", "pregon", "admin", "create", _NAME, "--data", str(directory)]
    subprocess.run(command, input=f"{_PASSWORD}\n".encode(), check=True, capture_output=True, timeout=60)


def _enter(hub: HubProcess) -> httpx.Client:
    """A browser that has entered."""
    browser = httpx.Client(base_url=f"http://{hub.http}/admin/", timeout=30)
    mark = re.findall(r'name="csrf" value="(\w+)"', browser.get(_ENTRY).text)[0]
    answer = browser.post(_ENTRY, data={"csrf": mark, "name": _NAME, "password": _PASSWORD})
    assert answer.status_code == 303, answer.text[:300]
    return browser


def _time_pages(run: Run, hubs: dict[str, HubProcess], count: int) -> None:
    browsers = {name: _enter(hub) for name, hub in hubs.items()}
    stranger = httpx.Client(base_url=f"http://{hubs['full'].http}/admin/", timeout=30)

    def timed(browser: httpx.Client, page: str) -> float:
        begun = time.perf_counter()
        answer = browser.get(page)
        took_ms = (time.perf_counter() - begun) * 1_000
        assert answer.status_code == 200, f"{page}: {answer.status_code}"
        return took_ms

    for page in _PAGES:
        for browser in browsers.values():
            timed(browser, page)
    empty = [timed(stranger, _ENTRY) for _ in range(10 * ROUNDS)]
    figures: dict[str, dict[str, float]] = {}
    for page in _PAGES:
        taken = in_turns(
            2 * ROUNDS,
            {name: (lambda _, browser=browser, page=page: timed(browser, page)) for name, browser in browsers.items()},  # type: ignore[misc]
        )
        figures[page or "overview"] = {
            "full_ms": median(taken["full"]),
            "full_worst_ms": max(taken["full"]),
            "small_ms": median(taken["small"]),
            "times_an_empty_page": median(taken["full"]) / median(empty),
        }
    run.results["admin_pages"] = {"empty_ms": median(empty), "pages": figures}
    rows = [("an empty page (where one enters)", f"{median(empty):.1f}", f"{max(empty):.1f}", "", "1.0")]
    rows += [
        (
            name,
            f"{one['full_ms']:.1f}",
            f"{one['full_worst_ms']:.1f}",
            f"{one['small_ms']:.1f}",
            f"{one['times_an_empty_page']:.1f}",
        )
        for name, one in figures.items()
    ]
    columns = ("page", "ms", "worst", "ms on a small hub", "× an empty page")
    run.show(f"administration pages at {count:,} messages and traces", columns, rows)
    slowest = max(figures.items(), key=lambda one: one[1]["full_ms"])
    run.out.print(f"the slowest, {slowest[0]}, takes {slowest[1]['full_ms']:.1f} ms; the limit is {LIMIT_MS:.0f} ms\n")


def _weigh_viewers(run: Run) -> None:
    """Publishing in batches and one by one, while nobody looks and while twenty do."""
    directory = run.folder("admin-viewers")
    database = SqliteDatabase(directory)
    migrate(database)
    database.close()
    _make_person(directory)
    seconds = 5.0 if run.plan.quick else 12.0
    batch = bodies(50_000)
    with HubProcess(directory) as hub, ExitStack() as stack:
        ours.publish(hub, "warm-up", batch, 500, at_once=True)

        def batches(_round: int) -> float:
            begun, sent = time.perf_counter(), 0
            while time.perf_counter() - begun < seconds:
                ours.publish(hub, "log", batch, 500, at_once=True)
                sent += len(batch)
            return sent / (time.perf_counter() - begun)

        def singles(_round: int) -> float:
            return ours.publish_at_once(hub, "singles", 16, seconds)

        is_looking = stack.enter_context(_viewers(_enter(hub)))

        def watched(work: Callable[[int], float], number: int) -> float:
            is_looking.set()
            try:
                return work(number)
            finally:
                is_looking.clear()

        works: dict[str, Callable[[int], float]] = {
            "batches of 500": batches,
            "16 clients, one message at a time": singles,
        }
        rates: dict[str, dict[str, list[float]]] = {}
        for name, work in works.items():
            pair: dict[str, Callable[[int], float]] = {"nobody looks": work, "twenty look": partial(watched, work)}
            rates[name] = in_turns(ROUNDS, pair)
    run.results["admin_viewers"] = rates
    rows = []
    for name, taken in rates.items():
        alone, together = median(taken["nobody looks"]), median(taken["twenty look"])
        rows.append((name, f"{alone:,.0f}", f"{together:,.0f}", f"{(1 - together / alone) * 100:.1f} %"))
    columns = ("publishing", "nobody looks", f"{VIEWERS} look", "less")
    run.show(
        f"messages a second beside {VIEWERS} open overviews (at most {COST_PERCENT_MAX:.0f} % less)", columns, rows
    )


@contextmanager
def _viewers(browser: httpx.Client) -> Iterator[Event]:
    """So many overviews, in a process of their own: they must not take turns with who publishes. They look while the
    event is set."""
    spawning = multiprocessing.get_context("spawn")
    has_begun, is_looking = spawning.Event(), spawning.Event()
    arguments = (str(browser.base_url), dict(browser.cookies), has_begun, is_looking)
    process = spawning.Process(target=_look, args=arguments, daemon=True)
    process.start()
    has_begun.wait(60)
    try:
        yield is_looking
    finally:
        process.kill()
        process.join()


def _look(base_url: str, cookies: dict[str, str], has_begun: Event, is_looking: Event) -> None:
    """Ask for the live part of the overview as so many open pages do, one after another."""
    headers = {"hx-request": "true"}
    with httpx.Client(base_url=base_url, cookies=cookies, timeout=30) as browser:
        has_begun.set()
        while True:
            is_looking.wait()
            browser.get("live/overview", headers=headers).raise_for_status()
            time.sleep(_BEAT_S / VIEWERS)
