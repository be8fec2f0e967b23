"""Ask services: one after the other, many at once, and what is said when something is wrong.

With a hub running (`make run`) and a worker (`examples/service_worker.py`):

    .venv/bin/python examples/service_client.py
"""

from pregon import Client, PregonError

with Client() as hub:
    print("sqrt of 100:", hub.request("sqrt", 100))
    print("primes up to 10,000:", hub.request("primes", 10_000, returns=int))
    print("greet:", hub.request("greet", "Ana", version="2", timeout_ms=2_000))

    roots = hub.map("sqrt", range(20_000), returns=float, progress=True)
    print(f"the sum of 20,000 roots: {sum(roots):.1f}")

    for arguments, options in ((("sqrt", "abc"), {}), (("sqrt", 1), {"version": "9"}), (("greet", "Eva", 60), {})):
        try:
            hub.request(*arguments, **options)
        except PregonError as error:
            print(f"{arguments}: {error.code}: {error}")
