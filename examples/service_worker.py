"""A worker: three functions that anybody may ask for, each run in another way.

With a hub running (`make run`), in a terminal of its own, and as many of them as you like:

    .venv/bin/python examples/service_worker.py

It ends with Ctrl-C or SIGTERM: it says goodbye to the broker, answers what it has, and goes. Kill one with -9 in the
middle of its work, and another does it.
"""

import asyncio

from pregon import serve, service


@service("sqrt", slots=100, inline=True)
def sqrt(x: float) -> float:
    """Quick enough to be called where it is received."""
    return x**0.5


@service("primes", slots=2, processes=True, time_limit_ms=30_000)
def primes(up_to: int) -> int:
    """Computes: in processes, so that two run at once. One that takes too long is killed and replaced."""
    return sum(all(number % factor for factor in range(2, int(number**0.5) + 1)) for number in range(2, up_to + 1))


@service("greet", version="2", slots=50, time_limit_ms=5_000)
async def greet(name: str, seconds: float = 0.0) -> tuple[str, int]:
    """Waits: on an event loop, fifty at once. A tuple is an answer of several parts."""
    await asyncio.sleep(seconds)
    return f"Hola, {name}", len(name)


if __name__ == "__main__":
    serve(sqrt, primes, greet)
