"""A member that answers every question, and one that asks, in one event loop.

With a hub running (`make run`):

    .venv/bin/python examples/groups/with_asyncio.py
"""

import asyncio

from pregon import AsyncClient, AsyncGroup, GroupMessage


async def answer(group: AsyncGroup) -> None:
    """Say the square of every number."""
    async for event in group:
        if isinstance(event, GroupMessage) and "number" in event.json():
            await group.send({"square": event.json()["number"] ** 2}, answers=event)


async def main() -> None:
    """Ask, and print what comes back."""
    async with AsyncClient() as hub:
        asker = await hub.join("squares", name="asker")
        answerer = await hub.join("squares", name="answerer")
        task = asyncio.create_task(answer(answerer))

        asked = {await asker.send({"number": number}): number for number in range(1, 6)}
        while asked:
            event = await asker.poll(10)
            if isinstance(event, GroupMessage) and event.answers is not None:
                print(f"{asked.pop(event.answers)} squared is {event.json()['square']}")

        for group in (asker, answerer):
            await group.leave()
            await hub.retire(group.token)
        await task


asyncio.run(main())
