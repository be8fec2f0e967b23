"""What members were shown, and when, in a topic: for the diagrams of groups, and for whoever reads topics as tables."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import msgspec

from pregon.causal.stamps import decode_stamp
from pregon.clock import INSTANT_US_MAX
from pregon.errors import AlreadyExists, BadRequest, Disabled, Forbidden, NotFound, PregonError
from pregon.hub.directory import Directory
from pregon.hub.hub import Hub
from pregon.hub.registry import create
from pregon.limits import GROUP_REPORT_ROWS_MAX
from pregon.model.catalog import Producer, Retention, Topic
from pregon.model.events import JSON_CONTENT_TYPE
from pregon.model.group import DELIVERIES_TOPIC, PRODUCER
from pregon.model.message import Outgoing
from pregon.store.catalog import require_room
from pregon.store.ticket import Ticket
from pregon.store.transaction import Transaction
from pregon.wire.groups import Report

_KEPT = Retention(age_ms=30 * 24 * 60 * 60 * 1_000, bytes_max=1024 * 1024 * 1024)
_encode = msgspec.json.Encoder().encode


class DeliveriesLog:
    """Writes what members report."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._is_topic_there = False

    def write(self, report: Report, member: int, name: str) -> Ticket[int]:
        """Store a report; how many rows it had, 0 if nobody wants any. Raises BadRequest for one that is wrong."""
        if len(report.rows) > GROUP_REPORT_ROWS_MAX:
            raise BadRequest(f"a report has at most {GROUP_REPORT_ROWS_MAX} rows")
        for row in report.rows:
            decode_stamp(row.stamp)
            if row.waited_for:
                decode_stamp(row.waited_for)
            if not 0 <= row.received_us <= row.delivered_us <= INSTANT_US_MAX:
                raise BadRequest("a message is shown after it came: give both in microseconds since 1970")
        body = _encode({"group": report.group, "member": member, "name": name, "rows": report.rows})
        message = Outgoing(body, None, report.group, JSON_CONTENT_TYPE)
        answer: Ticket[int] = Ticket()

        def publish(*, may_make: bool) -> None:
            def published(ticket: Ticket[Any]) -> None:
                try:
                    ticket.value()
                except (NotFound, Forbidden) as error:
                    # Somebody deleted the topic, or who publishes there.
                    self._is_topic_there = False
                    if may_make:
                        make()
                    else:
                        answer.fail(error)
                except Disabled:
                    # Somebody wants no reports: that is no reason for the member to leave its group.
                    answer.resolve(0)
                except PregonError as error:
                    answer.fail(error)
                else:
                    answer.resolve(len(report.rows))

            # Not made on first use: it would be kept for ever, and not at all in a hub that makes nothing so.
            ask(lambda: self._hub.publish(DELIVERIES_TOPIC, PRODUCER, message, may_create=False), published)

        def ask(verb: Callable[[], Ticket[Any]], done: Callable[[Ticket[Any]], None]) -> None:
            try:
                verb().when_done(done)
            except PregonError as error:
                answer.fail(error)

        def make() -> None:
            ask(self._make_topic, made)

        def made(ticket: Ticket[Any]) -> None:
            try:
                ticket.value()
            except PregonError as error:
                answer.fail(error)
                return
            self._is_topic_there = True
            publish(may_make=False)

        if self._is_topic_there:
            publish(may_make=True)
        else:
            make()
        return answer

    def _make_topic(self) -> Ticket[None]:
        """The topic of reports, and who publishes there; as they are if somebody gave them other values."""
        description = "What members of groups were shown, and when"
        entries = (
            Topic(name=DELIVERIES_TOPIC, description=description, retention=_KEPT),
            Producer(name=PRODUCER),
        )

        def change(transaction: Transaction, directory: Directory) -> None:
            for kind in ("topic", "producer"):
                # Before either is made: what is refused must change nothing.
                require_room(transaction.connection, kind)
            for entry in entries:
                with contextlib.suppress(AlreadyExists):
                    create(entry)(transaction, directory)

        return self._hub.change(change)
