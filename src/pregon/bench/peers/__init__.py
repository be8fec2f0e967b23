"""The other brokers that the benchmark measures beside the hub, each driven the best way its client allows.

A peer owns its server from `start` to `stop`, keeps its data in the folder it is given, and listens on the
loopback only. What is measured, how often and how it is told are left to the scenarios and the report.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from pregon.bench.peers.install import find_servers, install_peers
from pregon.bench.peers.nats_jetstream import NatsJetStream
from pregon.bench.peers.process import PeerFailed, PeerMissing
from pregon.bench.peers.rabbitmq_quorum import RabbitmqQuorum
from pregon.bench.peers.redis_streams import RedisStreams

__all__ = ["Peer", "PeerFailed", "PeerMissing", "all_peers", "find_servers", "install_peers"]


class Peer(Protocol):
    """One broker under measurement.

    Every method may raise `PeerMissing` (its server or client is not here) or `PeerFailed` (it did not do
    what was asked). Connecting and creating the topic are never part of the seconds returned.
    """

    name: str
    """What the report calls it, with the setting that decides how durable it is."""

    server: str
    """The server's executable, by which `find_servers` tells its version."""

    def start(self, directory: Path) -> None:
        """Start the server on a free loopback port, its data in `directory`, and wait until it answers."""

    def stop(self) -> None:
        """End the processes that `start` started; does nothing when there are none."""

    def publish(self, topic: str, bodies: Sequence[bytes], in_flight: int) -> float:
        """Publish with up to `in_flight` unacknowledged messages; seconds until the last acknowledgement."""

    def publish_one_by_one(self, topic: str, bodies: Sequence[bytes]) -> list[float]:
        """Publish each message after the one before it was acknowledged; the seconds that each took."""

    def consume(self, topic: str, count: int) -> float:
        """Receive and acknowledge the next `count` messages, at least one; seconds until the last was."""


def all_peers() -> list[Peer]:
    """Every peer that the benchmark knows, none of them started."""
    return [RedisStreams(), NatsJetStream(), RabbitmqQuorum()]
