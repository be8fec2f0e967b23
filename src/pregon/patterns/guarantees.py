"""What each pattern guarantees and what it loses, as data.

The page docs/how-to/use-zeromq-patterns.md and the examples say the same sentences, and tests hold them to it; the
scenarios of the patterns prove them on real sockets.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pattern:
    """A way for programs to talk."""

    name: str
    """Its sockets, and how many programs are on each side."""
    purpose: str
    """What it is for."""
    guarantees: tuple[str, ...]
    """What holds while nobody dies, and what holds even then."""
    traps: tuple[str, ...]
    """What it loses, and what else it does not promise."""
    example: str
    """The file in examples/patterns that shows it."""


PATTERNS = (
    Pattern(
        name="REQ/REP, one to one",
        purpose="Ask another program, and wait for its answer.",
        guarantees=(
            "Requests and answers alternate: a second request before the answer is refused.",
            "What arrives is the answer to the last request.",
        ),
        traps=("A client whose server dies before it answers waits for ever.",),
        example="req_rep.py",
    ),
    Pattern(
        name="REQ/REP, one to many",
        purpose="Spread requests over servers that all do the same.",
        guarantees=("The servers are asked in turn, in the order in which they were connected.",),
        traps=(
            "Nothing runs in parallel: one request is out at a time, whatever the number of servers.",
            "A request whose turn falls on a server that is not there waits for it, while the others are idle.",
        ),
        example="req_rep_round_robin.py",
    ),
    Pattern(
        name="REQ/REP, many to one",
        purpose="One server, any number of clients.",
        guarantees=(
            "Clients are served in turn: one that asks without pause does not starve another.",
            "Each answer goes to the client that asked.",
        ),
        traps=("The server does one request at a time: a slow one delays everybody.",),
        example="req_rep_many_clients.py",
    ),
    Pattern(
        name="Reliable REQ",
        purpose="Ask servers that may die.",
        guarantees=(
            "A request ends, with an answer or, after so many tries, with an error.",
            "A server that does not answer is passed over for one that does.",
        ),
        traps=("A request may be worked on twice: the server must not mind.",),
        example="reliable_request.py",
    ),
    Pattern(
        name="PUSH/PULL, one to one",
        purpose="Hand work on to the next stage, without waiting for an answer.",
        guarantees=(
            "Messages arrive in order, each whole: all of its frames or none.",
            "What is sent before the puller is there waits for it; a pusher whose queue is full waits too.",
        ),
        traps=("Nobody confirms anything: what is in a queue when a program dies is lost.",),
        example="push_pull.py",
    ),
    Pattern(
        name="PUSH/PULL, fan-out",
        purpose="Share work among several pullers.",
        guarantees=("Each message goes to one puller, and the pullers get them in turn.",),
        traps=(
            "Turns do not look at who is busy: a slow puller is given as many as a quick one.",
            "What waits at a puller that dies is lost, and not given to another.",
        ),
        example="push_pull_fan_out.py",
    ),
    Pattern(
        name="PUSH/PULL, fan-in",
        purpose="Collect from several pushers.",
        guarantees=(
            "Pushers are heard in turn: one that floods does not silence another.",
            "The messages of one pusher stay in order.",
        ),
        traps=("Between the messages of different pushers there is no order.",),
        example="push_pull_fan_in.py",
    ),
    Pattern(
        name="PUSH/PULL, one to many to one",
        purpose="Map and reduce: share work among workers, collect the results.",
        guarantees=("While all live, each piece reaches one worker, and each result the collector.",),
        traps=(
            "Results come in any order: number the pieces.",
            "A worker that dies takes its pieces with it: count the results, and send again what is missing.",
        ),
        example="push_pull_map_reduce.py",
    ),
    Pattern(
        name="PUB/SUB",
        purpose="Tell everybody who listens.",
        guarantees=(
            "A subscriber that keeps up gets, in order, every message that begins with one of its prefixes.",
            "No subscriber delays the publisher, or another subscriber.",
        ),
        traps=(
            "What is published before a subscription has arrived is not seen by it.",
            "A subscriber that is too slow misses messages, and is not told.",
        ),
        example="pub_sub.py",
    ),
    Pattern(
        name="DEALER/REP",
        purpose="Have several requests out at once, to servers that know nothing of it.",
        guarantees=(
            "The servers are asked in turn, without waiting for answers.",
            "A server that dies does not keep the program from asking the others.",
        ),
        traps=(
            "The program adds the delimiter: without it, REP drops the request without a word.",
            "Answers come as the servers get ready: number the requests.",
        ),
        example="dealer_rep.py",
    ),
    Pattern(
        name="ROUTER/REQ",
        purpose="Serve many clients at once, and answer whoever is ready first.",
        guarantees=("An answer goes to the client whose identity stands before it, in whatever order.",),
        traps=(
            "An answer to a client that has gone is dropped without a word.",
            "Of two clients with the same identity, only the first is heard.",
        ),
        example="router_req.py",
    ),
    Pattern(
        name="ROUTER/DEALER forwarder",
        purpose="One address for clients, one for workers; both come and go.",
        guarantees=(
            "Workers get requests in turn, and each answer goes to its client.",
            "While there is no worker, requests wait.",
        ),
        traps=(
            "A request that was given to a worker that dies is never answered.",
            "Turns do not look at who is busy: a request may wait behind a long one while a worker is idle.",
        ),
        example="router_dealer.py",
    ),
    Pattern(
        name="XSUB/XPUB forwarder",
        purpose="One address for publishers, one for subscribers; both come and go.",
        guarantees=(
            "Every subscriber hears every publisher, and neither needs to know how many there are.",
            "Subscriptions travel to the publishers: what nobody wants is not even sent.",
        ),
        traps=("All that PUB/SUB loses, and what is in the forwarder when it ends.",),
        example="xsub_xpub.py",
    ),
    Pattern(
        name="PULL/PUSH forwarder",
        purpose="One address for pushers, one for pullers; both come and go.",
        guarantees=("Each message goes to one puller; while there is none, messages wait.",),
        traps=("All that PUSH/PULL loses, and what is in the forwarder when it ends.",),
        example="pull_push.py",
    ),
)
"""Every pattern of this package, the simple ones first."""
