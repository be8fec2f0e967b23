"""The client: publish, produce in batches, pull, follow, administer; blocking and with asyncio.

What is said to the hub is written once (`calls`, `outbox`, `follower`), without I/O; `sync` and `aio`, with their
producers and links, are thin loops around it. The server's side is never imported.
"""

from pregon.client.aio import AsyncClient
from pregon.client.sync import Client

__all__ = ["AsyncClient", "Client"]
