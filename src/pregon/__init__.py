"""Pregón: a message hub for organisations that must tell each other things and be able to prove it.

    from pregon import Client

    with Client() as hub:
        hub.publish("fallecidos", "Pepe Gómez")
        for message in hub.follow("fallecidos", "BPS", until_empty=True):
            print(message.seq, message.text)
        print(hub.request("sqrt", 100))
        hub.join("design", name="ana").send("hola")

These names are the public line; everything else may change.
"""

from pregon.client import AsyncClient, Client
from pregon.client.groups.aio_group import AsyncGroup
from pregon.client.groups.events import (
    GroupEvent,
    GroupMember,
    GroupMessage,
    MemberGone,
    MemberJoined,
    MemberLeft,
    MemberRenamed,
    MessagesMissed,
    Relation,
    Stamp,
)
from pregon.client.groups.group import Group
from pregon.client.outbox import ProducerOptions, Receipt
from pregon.client.services.clients import AsyncServiceClient, ServiceClient
from pregon.client.services.service import service
from pregon.client.services.worker import Worker, serve
from pregon.errors import Corrupt, PregonError, Rejected, Unavailable
from pregon.model.group import Participant
from pregon.model.message import Message, Outgoing
from pregon.version import __version__

__all__ = [
    "AsyncClient",
    "AsyncGroup",
    "AsyncServiceClient",
    "Client",
    "Corrupt",
    "Group",
    "GroupEvent",
    "GroupMember",
    "GroupMessage",
    "MemberGone",
    "MemberJoined",
    "MemberLeft",
    "MemberRenamed",
    "Message",
    "MessagesMissed",
    "Outgoing",
    "Participant",
    "PregonError",
    "ProducerOptions",
    "Receipt",
    "Rejected",
    "Relation",
    "ServiceClient",
    "Stamp",
    "Unavailable",
    "Worker",
    "__version__",
    "serve",
    "service",
]
