"""Three subscribers follow one topic at the same time, over one connection each, in one event loop.

With a hub running (`make run`), and something in the topic (`examples/publish_and_pull.py`):

    .venv/bin/python examples/follow_with_asyncio.py

It ends with Ctrl-C. Publish more from another terminal and see each of the three receive it.
"""

import asyncio
from contextlib import aclosing, suppress

from pregon import AsyncClient

TOPIC = "fallecidos"


async def follow(subscriber: str) -> None:
    """Deal with every message; it is acknowledged after the next one is asked for, never before."""
    async with AsyncClient() as hub, aclosing(hub.follow(TOPIC, subscriber)) as messages:
        async for message in messages:
            print(f"{subscriber} got {message.seq}: {message.text}", flush=True)


async def main() -> None:
    """Follow as all three."""
    async with asyncio.TaskGroup() as group:
        for subscriber in ("BPS", "IMM", "CGN"):
            group.create_task(follow(subscriber))


with suppress(KeyboardInterrupt):
    asyncio.run(main())
