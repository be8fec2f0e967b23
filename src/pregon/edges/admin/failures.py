"""Why a push failed, in plain words: what it means, and who can do something about it.

The hub notes failures exactly and in English (`HTTP 503 Service Unavailable`); here the usual ones get a sentence that
somebody understands who does not know HTTP. What is not known is shown as it is.
"""

from __future__ import annotations

import re

from markupsafe import Markup

from pregon.edges.admin.words import Words

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), sentence)
    for pattern, sentence in (
        (r"SOAP fault", "The web service answered with a fault: it understood the message and refused it."),
        (
            r"HTTP 40[13]\b",
            "The web service does not let the hub in: it asks for a key or a certificate that it does not get.",
        ),
        (r"HTTP 404\b", "There is nothing at that address: the web service has moved, or the address is wrong."),
        (r"HTTP 405\b", "The address does not take messages (POST): it is probably the wrong one."),
        (r"HTTP 41[35]\b", "The web service does not take messages of this size or kind."),
        (r"HTTP 410\b", "The web service says that it is gone for good."),
        (r"HTTP 429\b", "The web service asks for fewer messages at a time. The hub waits, and goes on."),
        (
            r"HTTP 50[234]\b",
            "The web service is down for a moment, or what stands before it cannot reach it. The hub tries again.",
        ),
        (r"HTTP 5\d\d\b", "The web service failed while it dealt with the message: its own log says why."),
        (
            r"HTTP 3\d\d\b",
            "The web service sends the hub elsewhere, and the hub does not follow: give it the new address.",
        ),
        (r"HTTP 4\d\d\b", "The web service refuses the message: something in it is not as it expects."),
        (r"no answer in", "The web service took too long to answer."),
        (
            r"connection refused",
            "Nothing listens at that address: the web service is not running, or a firewall is in between.",
        ),
        (
            r"could not be looked up",
            "The name in the address is not known: it is misspelt, or the name service is down.",
        ),
        (r"certificate|TLS|SSL", "The web service's certificate cannot be trusted, or the encryption does not fit."),
        (
            r"push_allow does not allow|cannot be read as a URL|no address|odd spelling",
            "Messages may not be pushed to that address: it is inside a network that the operator has not allowed.",
        ),
        (r"closed|connection lost|reset|broken pipe", "The web service hung up in the middle of the conversation."),
        (
            r"not HTTP|head of the answer",
            "What listens at that address is not a web service, or does not answer as one.",
        ),
        (r"unreachable|no route|timed out|host is down", "The machine of the web service cannot be reached."),
    )
)


def plain_words(failure: str, say: Words) -> Markup:
    """The failure in a sentence; as it was noted if it is none of the usual ones."""
    for pattern, sentence in _PATTERNS:
        if pattern.search(failure):
            return say(sentence)
    return Markup.escape(failure)


SENTENCES = tuple(sentence for _, sentence in _PATTERNS)
