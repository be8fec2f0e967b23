"""A whole broker, its parts joined: what the loop with the sockets drives.

frames of clients ──► Front ─┐                         ┌─► to_front
                             ├─► Broker, Watch, Durables ─┤
frames of workers ──► Back ──┘                         └─► to_back
"""

from __future__ import annotations

from pregon.errors import BadRequest, NotFound, PregonError
from pregon.model.service import Entry
from pregon.services.back import Back
from pregon.services.broker import Broker
from pregon.services.durables import Durables, Journal
from pregon.services.front import Front
from pregon.services.ledger import Frames
from pregon.services.options import ServiceOptions
from pregon.services.poison import Poison
from pregon.services.request import Asker, Body, Told
from pregon.services.rights import Everybody, Rights
from pregon.services.watch import Watch
from pregon.wire.services import REQUEST, RequestOptions, encode_head, encode_options

_INSIDE = b"hub"


def _nobody(_outcome: Body | PregonError) -> None:
    """Nobody is told."""


class Parts:
    """A broker and all that belongs to it. For one thread."""

    def __init__(
        self, options: ServiceOptions | None = None, rights: Rights | None = None, journal: Journal | None = None
    ) -> None:
        self._rights = rights or Everybody()
        self.broker = Broker(options)
        self.watch = Watch(self.broker)
        self.durables = Durables(self.broker, journal)
        self.front = Front(self.broker, self._rights, self.durables)
        self.back = Back(self.broker, self.watch, self._rights)
        self._asked = 0

    def tick(self, now_ms: float) -> None:
        """So late is it."""
        self.watch.tick(now_ms)
        self.durables.tick(now_ms)

    def ask(self, name: str, body: Body, options: RequestOptions, tell: Told, user: str = "") -> bytes:
        """A request from inside the hub; `tell` is called once. Its number, by which it can be cancelled."""
        self._asked += 1
        id = self._asked.to_bytes(8, "big")
        head = encode_head(REQUEST, id, encode_options(name, options))
        self.front.take_rich(Asker(_INSIDE, tell=tell, user=user), head, body)
        return id

    def cancel(self, id: bytes) -> None:
        """Nobody waits any more for the answer to a request from inside the hub."""
        request = self.broker.under_way.get(((), id))
        if request is not None:
            self.broker.cancel(request)

    def collect(self, durable_id: str, wait_ms: int, tell: Told, user: str = "") -> bytes:
        """A result, for somebody inside the hub; the number by which that can be cancelled."""
        self._asked += 1
        id = self._asked.to_bytes(8, "big")
        self.durables.collect(Asker(_INSIDE, tell=tell, user=user), id, durable_id, wait_ms)
        return id

    def cancel_collecting(self, id: bytes) -> None:
        """Nobody inside the hub waits any more for a result."""
        self.durables.cancel_collecting(Asker(_INSIDE, tell=_nobody), id)

    def worker_unreachable(self, identity: bytes, unsent: list[Frames]) -> None:
        """Frames could not be brought to a worker: it is lost, and not to blame for what never reached it."""
        worker = self.broker.workers.get(identity)
        if worker is None:
            return
        work_ids = list(worker.in_hand) if worker.is_plain else [frames[1][5:13] for frames in unsent]
        requests = [request for work_id in work_ids if (request := worker.in_hand.pop(work_id, None)) is not None]
        for request in requests:
            del request.line.in_hand[request.work_id]
        self.broker.give_up(worker, "its connection was lost")
        for request in requests:
            self.broker.dispatch_again(request)

    def take_poison(self, number: int) -> Poison:
        """Take a request from where it was set aside; raises NotFound."""
        found = self.broker.poison.take(number)
        if found is None:
            raise NotFound(f"no request is set aside as number {number}")
        return found

    def require_durable_poison(self, number: int) -> Poison:
        """One that can be worked on again; raises NotFound, or BadRequest for one whose client has its answer."""
        found = next((one for one in self.broker.poison if one.number == number), None)
        if found is None:
            raise NotFound(f"no request is set aside as number {number}")
        if not found.request.durable_id:
            raise BadRequest(f"number {number} is not durable: its client was told, and may ask again")
        return found

    def resume_poison(self, number: int, entry: Entry) -> None:
        """Work again on a durable request that was set aside and, in the store, is no longer."""
        self.broker.poison.take(number)
        self.durables.resume(entry)

    def was_paused(self, paused_ms: float) -> None:
        """The broker itself stood still (a suspended machine, a frozen process): that is no silence of others."""
        for worker in self.broker.workers.values():
            worker.heard_ms += paused_ms
            worker.beaten_ms += paused_ms
        for line in self.broker.lines.values():
            for request in line.in_hand.values():
                request.sent_ms += paused_ms

    def dismiss_without_right(self) -> None:
        """Keys have changed: workers that may not serve what they serve get nothing any more."""
        for worker in list(self.broker.workers.values()):
            if not all(self._rights.may_serve(worker.user, line.type) for line in worker.lines):
                # Nobody's fault but the key's: what it had is given to others as if it had never been given.
                self.worker_unreachable(worker.identity, [[b"", b"PGS1R" + one] for one in worker.in_hand])
                self.broker.forget(worker)
