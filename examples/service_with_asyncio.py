"""A hundred requests at once from one event loop, and a map over a thousand inputs.

With a hub running (`make run`) and a worker (`examples/service_worker.py`):

    .venv/bin/python examples/service_with_asyncio.py
"""

import asyncio

from pregon import AsyncClient


async def main() -> None:
    """Ask, and wait for all of it together."""
    async with AsyncClient() as hub:
        greetings = await asyncio.gather(*(hub.request("greet", f"cliente {n}", 0.2) for n in range(100)))
        print(len(greetings), "greetings, the last of them:", greetings[-1])

        total = 0.0
        async for root in hub.map("sqrt", range(1_000), in_flight=100, returns=float):
            total += root
        print(f"the sum of 1,000 roots: {total:.1f}")


asyncio.run(main())
