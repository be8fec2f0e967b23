"""The civil registry of the demo, DGREC: publishes one death after another, in turn by SOAP and by REST.

Promise: a certificate is published once. When the hub gives no answer it is sent again, with the same id, until there
is one; `published` only has what was answered.
"""

from __future__ import annotations

from typing import NamedTuple

from pregon.demo.doors import Doors
from pregon.demo.news import MONTEVIDEO, Person, person


class Published(NamedTuple):
    """A certificate that the hub has, and the number that it got."""

    seq: int
    of: Person


class Registry:
    """Who publishes."""

    def __init__(self, doors: Doors) -> None:
        self._doors = doors
        self.published: list[Published] = []
        """In the order of publication."""
        self.by_soap = 0
        self.by_rest = 0
        self.sent_again = 0
        """How often a request without an answer was repeated."""

    def publish_one(self) -> None:
        """Publish the next certificate, however long it takes."""
        of = person(len(self.published) + 1)
        is_soap = of.acta % 2 == 1
        publish = self._doors.publish_soap if is_soap else self._doors.publish_rest
        seq = self._doors.until_answered(lambda: publish(of), self._count_repetition)
        self.by_soap += is_soap
        self.by_rest += not is_soap
        self.published.append(Published(seq, of))

    def _count_repetition(self) -> None:
        self.sent_again += 1

    @property
    def cis(self) -> dict[int, str]:
        """Whom each number tells of."""
        return {one.seq: one.of.ci for one in list(self.published)}

    @property
    def of_montevideo(self) -> list[int]:
        """The numbers that tell of somebody of Montevideo."""
        return [one.seq for one in list(self.published) if one.of.departamento == MONTEVIDEO]
