"""A worker's side of PGS/1: hello and welcome, beats, work and its answers, goodbye.

Pure: frames and the time go in; what is to be sent is left in `outgoing`, in order, and who no longer need be worked
for in `dropped`. The loop around it is in `worker`.

    hello ──► welcome ──► work ⇄ answers, beats ──► goodbye ──► the last answers
      ▲                       │
      └── the broker does not know us (it was started anew), or the connection was another's meanwhile

A hello says that nothing is under way: what the broker gave us goes to others, as if we had been lost. So it is said
once, and again only if nothing comes of it. After a reconnection a beat asks whether we are known: a broker that does
not know us answers it by asking for a hello, as it does every other message, so that several may ask at once.

Promises:
- Work for which there is no room, or that comes after the goodbye, is given back at once.
- A work that was taken is answered once at most, and never after the broker has forgotten us.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from pregon.client.services.service import Outcome
from pregon.errors import BadRequest, LimitReached, PregonError, Rejected
from pregon.wire import services as wire
from pregon.wire.services import Failure, Hello

_HELLO_AGAIN_MS_FIRST = 500.0
_HELLO_AGAIN_MS_MAX = 5_000.0
_HELLOS_UNTIL_NEW_SOCKET = 4
_SILENCE_MS = 60_000.0
"""Idle and nothing heard for so long: is the broker there? Sooner, if the connection was lost before."""
_DOUBT_MS = 5_000.0


class _WorkOptions(msgspec.Struct, omit_defaults=True):
    attempt: int = 1
    deadline_ms: float | None = None


_options = msgspec.json.Decoder(_WorkOptions)
_NO_OPTIONS = _WorkOptions()


class Work:
    """One request that the broker gave us."""

    __slots__ = ("attempt", "body", "id", "is_dropped", "name", "started_ms", "until_ms")

    def __init__(self, id: bytes, name: str, body: list[bytes]) -> None:
        self.id = id
        self.name = name
        """What it is for, as it was told to the broker: `sqrt`, or `sqrt@2`."""
        self.body = body
        self.attempt = 1
        self.until_ms: float | None = None
        """After this its answer is of no use to who asked."""
        self.is_dropped = False
        """Nobody waits for its answer any more."""
        self.started_ms: float | None = None
        """Since when it runs; None while it waits for its turn."""


class WorkerTalk:
    """What one worker says to one broker."""

    def __init__(self, types: Iterable[str], name: str, slots: int) -> None:
        self._types = list(types)
        self._name = name
        self._slots = slots
        self._known = {one.encode(): one for one in self._types}
        for one in self._types:
            # A request for any version names the type alone; of several versions the first serves it.
            self._known.setdefault(one.partition("@")[0].encode(), one)
        self._under_way: dict[bytes, Work] = {}
        self.outgoing: list[list[bytes]] = []
        self.dropped: list[Work] = []
        self.refusal: PregonError | None = None
        """Why the broker does not take us, if asking again would not help."""
        self.is_welcome = False
        self.is_leaving = False
        self.wants_new_socket = False
        """The hello stays unanswered: the loop is to open another socket, and then call `reconnected`."""
        self.taken = 0
        self.given_back = 0
        self._busy = 0
        self._load = 0.0
        self._load_told = -1.0
        self._beat_ms = 0
        self._hellos = 0
        self._hello_at_ms = 0.0
        self._heard_ms = self._said_ms = 0.0
        self._silence_ms = _SILENCE_MS

    @property
    def busy(self) -> int:
        """How many are being worked on, those that nobody waits for included."""
        return self._busy

    @property
    def is_done(self) -> bool:
        """Whether it has left, and nothing is under way."""
        return self.is_leaving and not self._busy

    def told_load(self, load: float) -> None:
        """How busy this machine is now."""
        self._load = round(min(max(load, 0.0), wire.LOAD_MAX), 3)

    # What the broker says.

    def take(self, frames: list[bytes], now_ms: float) -> Work | None:
        """A message of the broker came; returns work, if it is some that there is room for."""
        self._heard_ms = now_ms
        self._silence_ms = _SILENCE_MS
        head = frames[0]
        if head[:4] != wire.MAGIC or len(head) < wire.HEAD_BYTES_MIN:
            return None
        kind = head[4]
        if kind == wire.REQUEST:
            return self._take_work(head, frames[1:], now_ms)
        if kind == wire.BEAT:
            self._say_beat(now_ms)
        elif kind == wire.DROP:
            work = self._under_way.get(head[5:13])
            if work is not None:
                work.is_dropped = True
                self.dropped.append(work)
        elif kind == wire.WELCOME:
            self._welcomed(head[13:])
        elif kind == wire.HELLO:
            # One that was not welcomed yet has said hello already: this answers something that it said before.
            if self.is_welcome and not self.is_leaving:
                self._say_hello(now_ms)
        elif kind == wire.ERROR:
            self._refused(head[13:])
        return None

    def _take_work(self, head: bytes, body: list[bytes], now_ms: float) -> Work | None:
        id, tail = head[5:13], head[13:]
        name = self._known.get(tail)
        options = _NO_OPTIONS
        if name is None:
            named, _, written = tail.partition(b"\n")
            name = self._known.get(named)
            try:
                options = _options.decode(written) if written else _NO_OPTIONS
            except (msgspec.DecodeError, UnicodeDecodeError):
                # Work is work, whatever else was said of it.
                options = _NO_OPTIONS
        if name is None or self.is_leaving or self._busy >= self._slots:
            self.given_back += 1
            self._say([wire.encode_head(wire.GIVE_BACK, id)], now_ms)
            return None
        work = Work(id, name, body)
        if options is not _NO_OPTIONS:
            work.attempt = options.attempt
            work.until_ms = None if options.deadline_ms is None else now_ms + options.deadline_ms
        self._busy += 1
        self.taken += 1
        self._under_way[id] = work
        return work

    def _welcomed(self, tail: bytes) -> None:
        try:
            welcome = wire.decode_welcome(tail)
        except BadRequest:
            welcome = wire.Welcome()
        self.is_welcome = True
        self._hellos = 0
        self._beat_ms = max(0, welcome.beat_ms)

    def _refused(self, tail: bytes) -> None:
        try:
            error = wire.error_of(wire.decode_failure(tail))
        except BadRequest as unreadable:
            error = unreadable
        if not self.is_welcome and isinstance(error, Rejected) and not isinstance(error, LimitReached):
            self.refusal = error

    # What we say.

    def begin(self, now_ms: float) -> None:
        """Say hello."""
        self._heard_ms = now_ms
        self._say_hello(now_ms)

    def answer(self, work: Work, outcome: Outcome, now_ms: float) -> None:
        """This came of it, for whoever still waits."""
        if self._under_way.get(work.id) is not work:
            return
        del self._under_way[work.id]
        if isinstance(outcome, Failure):
            outcome.load = self._load
            self._load_told = self._load
            self._say([wire.encode_head(wire.ERROR, work.id, wire.encode_json(outcome))], now_ms)
        elif self._load == self._load_told:
            self._said_ms = now_ms
            self.outgoing.append([b"PGS1A" + work.id, *outcome])
        else:
            self._say([wire.encode_head(wire.ANSWER, work.id, self._load_tail()), *outcome], now_ms)

    def ended(self, work: Work) -> None:
        """Nobody works on it any more: there is room for another."""
        self._busy -= 1

    def tick(self, now_ms: float) -> None:
        """So late is it; to be called a few times a second."""
        if not self.is_welcome:
            if not self.is_leaving and now_ms >= self._hello_at_ms:
                # From one socket to the next the hello is said a few times, then the socket itself is in doubt.
                self.wants_new_socket = self._hellos > 0 and self._hellos % _HELLOS_UNTIL_NEW_SOCKET == 0
                self._say_hello(now_ms)
        elif self.is_leaving:
            if self._busy and self._beat_ms and now_ms - self._said_ms >= self._beat_ms:
                self._say_beat(now_ms)
        elif not self._under_way and now_ms - self._heard_ms >= self._silence_ms:
            self._heard_ms = now_ms
            self._say_hello(now_ms)
        elif self._beat_ms and now_ms - self._said_ms >= self._beat_ms:
            self._say_beat(now_ms)

    def reconnected(self, now_ms: float) -> None:
        """The connection was lost and found again, perhaps with another broker at its end."""
        if self.is_leaving:
            return
        if self.wants_new_socket:
            # What was said before went to the old socket.
            self.wants_new_socket = False
            self.outgoing.clear()
            self._say_hello(now_ms)
        elif self.is_welcome:
            self._heard_ms = now_ms
            self._silence_ms = _DOUBT_MS
            self._say_beat(now_ms)
        else:
            # Our hello went over the new connection, or was lost with the old one: not long, and it is said again.
            self._hello_at_ms = min(self._hello_at_ms, now_ms + _HELLO_AGAIN_MS_FIRST)

    def leave(self, now_ms: float) -> None:
        """Say goodbye; what is under way will still be answered."""
        if not self.is_leaving:
            self.is_leaving = True
            self._say([wire.encode_head(wire.GOODBYE)], now_ms)

    def give_back_rest(self, now_ms: float) -> None:
        """There is no more time: what is under way goes to others."""
        for work in list(self._under_way.values()):
            self.given_back += 1
            self._say([wire.encode_head(wire.GIVE_BACK, work.id)], now_ms)
            work.is_dropped = True
            self.dropped.append(work)
        self._under_way.clear()

    def _say_hello(self, now_ms: float) -> None:
        self._forget_all()
        self.is_welcome = False
        pause_ms = min(_HELLO_AGAIN_MS_MAX, _HELLO_AGAIN_MS_FIRST * 2.0 ** min(self._hellos, 10))
        self._hellos += 1
        self._hello_at_ms = now_ms + pause_ms
        self._load_told = self._load
        hello = Hello(types=self._types, name=self._name, slots=self._slots, load=self._load)
        self._say([wire.encode_head(wire.HELLO, wire.NO_ID, wire.encode_json(hello))], now_ms)

    def _forget_all(self) -> None:
        """What was under way is the broker's to give to others."""
        for work in self._under_way.values():
            work.is_dropped = True
            self.dropped.append(work)
        self._under_way.clear()

    def _say_beat(self, now_ms: float) -> None:
        tail = b"" if self._load == self._load_told else self._load_tail()
        self._say([wire.encode_head(wire.BEAT, wire.NO_ID, tail)], now_ms)

    def _load_tail(self) -> bytes:
        self._load_told = self._load
        return b"%g" % self._load

    def _say(self, frames: list[bytes], now_ms: float) -> None:
        self._said_ms = now_ms
        self.outgoing.append(frames)
