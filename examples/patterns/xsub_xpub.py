"""XSUB/XPUB forwarder: one address for publishers, one for subscribers; both come and go.

    .venv/bin/python examples/patterns/xsub_xpub.py

It is what `pregon proxy xsub-xpub` runs, here inside the program. The publishers are XPUBs, so that they see the
subscriptions that the forwarder brings them, and this program knows when to begin.

Guarantees: Every subscriber hears every publisher, and neither needs to know how many there are. Subscriptions travel
to the publishers: what nobody wants is not even sent.
Traps: All that PUB/SUB loses, and what is in the forwarder when it ends.
"""

from pregon.patterns import Forwarder, require_subscribers, subscriber, xpub

with Forwarder("xsub-xpub", front="tcp://127.0.0.1:*", back="tcp://127.0.0.1:*") as square:
    with xpub(connect=square.front) as dgrec, xpub(connect=square.front) as bps:
        with subscriber(connect=square.back, prefixes=["fallecidos"]) as listener:
            for publisher in (dgrec, bps):
                require_subscribers(publisher, ["fallecidos"])
            print("both publishers know that somebody wants fallecidos")
            dgrec.send_string("nacimientos: nobody wants this")
            dgrec.send_string("fallecidos: from DGREC")
            print("heard", listener.recv_string())
            bps.send_string("fallecidos: from BPS")
            print("heard", listener.recv_string())
