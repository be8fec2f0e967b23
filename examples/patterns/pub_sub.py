"""PUB/SUB: tell everybody who listens.

    .venv/bin/python examples/patterns/pub_sub.py

The publisher is an XPUB, which is a PUB that is told of subscriptions: so this program knows when to begin.

Guarantees: A subscriber that keeps up gets, in order, every message that begins with one of its prefixes. No
subscriber delays the publisher, or another subscriber.
Traps: What is published before a subscription has arrived is not seen by it. A subscriber that is too slow misses
messages, and is not told.
"""

from pregon.patterns import bound_address, require_subscribers, subscriber, xpub

NEWS = ("fallecidos 1", "nacimientos 1", "fallecidos 2", "fin")

with xpub(bind="tcp://127.0.0.1:*") as out:
    out.send_string("fallecidos 0")
    print("published before anybody listens: fallecidos 0")
    address = bound_address(out)
    wants = {"BPS": ["fin", "fallecidos"], "MSP": ["fin", "nacimientos"], "IMM": ["fin", "fa", "na"]}
    readers = {name: subscriber(connect=address, prefixes=prefixes) for name, prefixes in wants.items()}
    # The last one of each reader: when it has arrived, so have those before it.
    require_subscribers(out, [prefixes[-1] for prefixes in wants.values()])
    for text in NEWS:
        out.send_string(text)
    for name, reader in readers.items():
        with reader:
            got = list(iter(reader.recv_string, "fin"))
        print(f"{name} wants {' or '.join(wants[name][1:])}: got {', '.join(got)}")
