"""A hub that works in the directory where it is run, and writes down all that it acknowledged.

Run under the shim, as `python hub_program.py honest|normal|off|early RUN`. A line goes to `acknowledged.log` when
a ticket is resolved, which is when the world would hear of it. Everything but `honest` breaks the promise that a
ticket is resolved after the sync, each in its own way: the test that cuts the power must catch them.

    published TOPIC SEQ PRODUCER ID       a single message
    batch TOPIC SEQ COUNT PRODUCER ID     a batch, ID is that of its first message
    acked TOPIC SUBSCRIBER SEQ            the cursor
    parked TOPIC SUBSCRIBER SEQ           a message set aside, for good
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from sqlalchemy import Connection

from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.hub.pull import PullRequest
from pregon.model.batch import pack
from pregon.model.catalog import Subscription
from pregon.model.message import Outgoing
from pregon.store import committer, database
from pregon.store.database import SqliteDatabase
from pregon.store.ticket import Ticket
from pregon.store.transaction import Transaction

ROUNDS = 60
SINGLES, BATCHES = "avisos", "lotes"
SUBSCRIBER, READER = "bps", "lector"


def shrink_the_log() -> None:
    """Make the write-ahead log so short that it is copied and begun anew many times in a short run."""
    for module in (database, committer):
        vars(module).update(LOG_BYTES_SOFT_MAX=256 * 1024, LOG_BYTES_HARD_MAX=512 * 1024)


class Careless(SqliteDatabase):
    """Does not sync at a commit, whatever it was asked for."""

    level = "NORMAL"

    def begin_write(self, connection: Connection, *, durable: bool) -> None:
        """Begin at the careless level."""
        connection.exec_driver_sql(f"PRAGMA synchronous={self.level}")
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def answer_before_the_commit() -> None:
    """Resolve tickets when a transaction is written but not yet committed."""
    finish = Transaction.finish

    def finish_and_answer(transaction: Transaction) -> None:
        finish(transaction)
        for ticket, answer in transaction.results:
            ticket.resolve(answer)
        transaction.results.clear()

    Transaction.finish = finish_and_answer  # type: ignore[method-assign,assignment]


class Crier:
    """Uses a hub and tells what it was told."""

    def __init__(self, hub: Hub, run: str) -> None:
        self._hub = hub
        self._run = run
        self._log = os.open("acknowledged.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._tickets: list[Ticket[Any]] = []
        self._rng = Random(run)
        self._acked_seq = hub.account(BATCHES, SUBSCRIBER).result().acked_seq

    def tell(self, ticket: Ticket[Any], line: Callable[[Any], str]) -> None:
        """Write the line when the ticket is resolved."""

        def write(resolved: Ticket[Any]) -> None:
            os.write(self._log, f"{line(resolved.value())}\n".encode())

        ticket.when_done(write)
        self._tickets.append(ticket)

    def work(self, turn: int) -> None:
        """One round: much of it at once, so that operations of all kinds share transactions."""
        for number in range(self._rng.randint(1, 5)):
            self.publish_one(f"{self._run}-{turn}-{number}", f"producer-{number % 2}")
        self.publish_batch(turn)
        head_seq = self._hub.pull(PullRequest(topic=BATCHES, subscriber=SUBSCRIBER)).result().head_seq
        if head_seq > self._acked_seq:
            last = self._acked_seq = min(head_seq, self._acked_seq + 20)
            where = f"{BATCHES} {SUBSCRIBER}"
            if turn % 3 == 0:
                self.tell(self._hub.park(BATCHES, SUBSCRIBER, [last]), lambda _: f"parked {where} {last}")
            self.tell(self._hub.ack(BATCHES, SUBSCRIBER, last), lambda seq: f"acked {where} {seq}")
        # The acknowledgement of a pull is not durable, and so is told to nobody.
        head = self._hub.pull(PullRequest(topic=SINGLES, subscriber=READER)).result()
        self._hub.pull(PullRequest(topic=SINGLES, subscriber=READER, ack=head.head_seq)).result()
        if turn % 2:
            self.wait()

    def publish_one(self, message_id: str, producer: str) -> None:
        """A message alone."""
        body = self._rng.randbytes(self._rng.choice((20, 700, 9_000)))
        ticket = self._hub.publish(SINGLES, producer, Outgoing(body, message_id))
        self.tell(ticket, lambda one: f"published {SINGLES} {one.seq} {producer} {message_id}")

    def publish_batch(self, turn: int) -> None:
        """A batch of a session."""
        count = self._rng.randint(1, 40)
        ids = [f"{self._run}-{turn}-{row}" for row in range(count)]
        batch = pack([Outgoing(self._rng.randbytes(200), one) for one in ids], [turn] * count)
        ticket = self._hub.publish_batch(BATCHES, "packer", batch, session=self._run, number=turn + 1)
        self.tell(ticket, lambda one: f"batch {BATCHES} {one.seq} {one.count} packer {ids[0]}")

    def wait(self) -> None:
        """Until everything was answered."""
        for ticket in self._tickets:
            ticket.result()
        self._tickets.clear()


def main(kind: str, run: str) -> None:
    """Work for some rounds."""
    shrink_the_log()
    kinds = {"normal": "NORMAL", "off": "OFF"}
    opened: SqliteDatabase
    if kind in kinds:
        opened = Careless(Path("data"))
        opened.level = kinds[kind]
    else:
        opened = SqliteDatabase(Path("data"))
    if kind == "early":
        answer_before_the_commit()
    hub = Hub(opened, HubOptions(maintenance_every_ms=50))
    hub.start()
    for topic, subscriber in ((BATCHES, SUBSCRIBER), (SINGLES, READER)):
        hub.create(Subscription(topic=topic, subscriber=subscriber)).result()
    crier = Crier(hub, run)
    for turn in range(ROUNDS):
        crier.work(turn)
    crier.wait()
    hub.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
