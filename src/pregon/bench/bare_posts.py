"""What pushes are measured beside: a bare loop of the same HTTP client library that posts the same requests.

Run as `python -m pregon.bench.bare_posts FILE`, where the file has `Posts`. Each endpoint is a line of its own: its
requests go one after another, those of all endpoints at once, as in the hub. The round trips, in microseconds, are
written beside the file.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import aiohttp
import msgspec
import uvloop

from pregon.bench.receivers import STAMP


class Post(msgspec.Struct, array_like=True):
    """One request: when to send it after the beginning, at the earliest, and what."""

    at_s: float
    headers: dict[str, str]
    body: bytes


class Posts(msgspec.Struct):
    """The requests of each endpoint."""

    endpoints: list[str]
    lines: list[list[Post]]


async def _post_line(session: aiohttp.ClientSession, url: str, posts: list[Post], begun_s: float) -> list[float]:
    trips, clock = [], time.perf_counter
    for post in posts:
        headers = post.headers
        if post.at_s:
            await asyncio.sleep(begun_s + post.at_s - clock())
            headers = {**headers, STAMP.decode(): str(time.time_ns() // 1_000)}
        sent = clock()
        async with session.post(url, data=post.body, headers=headers) as response:
            await response.read()
            assert response.status == 200
        trips.append((clock() - sent) * 1e6)
    return trips


async def _post_all(posts: Posts) -> list[float]:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:
        begun_s = time.perf_counter()
        lines = zip(posts.endpoints, posts.lines, strict=True)
        done = await asyncio.gather(*(_post_line(session, url, line, begun_s) for url, line in lines))
    return [trip for trips in done for trip in trips]


def post_bare(posts: Posts, directory: Path) -> list[float]:
    """Post them from a process of its own; the round trips in microseconds."""
    file = directory / "posts.msgpack"
    file.write_bytes(msgspec.msgpack.encode(posts))
    subprocess.run([sys.executable, "-m", "pregon.bench.bare_posts", str(file)], check=True)
    return msgspec.json.decode(_answer_of(file).read_bytes(), type=list[float])


def _answer_of(file: Path) -> Path:
    return file.with_suffix(".json")


def main(file: Path) -> None:
    """Post what a file says."""
    posts = msgspec.msgpack.decode(file.read_bytes(), type=Posts)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        trips = runner.run(_post_all(posts))
    _answer_of(file).write_bytes(msgspec.json.encode(trips))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
