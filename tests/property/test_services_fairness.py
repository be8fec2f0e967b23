"""Who is next: the higher priority first, clients in turns whatever they have waiting, and nobody out of order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pregon.services.line import Line
from pregon.services.options import ServiceOptions
from pregon.services.request import Asker, Request
from pregon.services.waiting import FairQueue

from .stage import Stage

CLIENTS = (b"a", b"b", b"c")
adds = st.tuples(st.just("add"), st.sampled_from(CLIENTS), st.sampled_from([0, 5, 5, 5, 9]))
steps = st.lists(
    adds
    | st.tuples(st.sampled_from(["take", "remove"]), st.integers(0, 9), st.none())
    | st.tuples(st.just("again"), st.sampled_from(CLIENTS), st.none()),
    max_size=60,
)


class Turns:
    """The same queue as a person would keep it: a list, and a note of whose turn it is at each priority."""

    def __init__(self) -> None:
        self.again: list[Request] = []
        self.waiting: list[Request] = []
        self.turns: dict[int, list[bytes]] = {}

    def add(self, request: Request) -> None:
        """At the end; a client that had nothing waiting is the last to have its turn."""
        turns = self.turns.setdefault(request.priority, [])
        if request.asker.identity not in turns:
            turns.append(request.asker.identity)
        self.waiting.append(request)

    def next(self) -> Request:
        """Who is next; it goes, and its client is the last."""
        if self.again:
            return self.again.pop(0)
        priority = max(request.priority for request in self.waiting)
        client = self.turns[priority].pop(0)
        mine = [one for one in self.waiting if one.priority == priority and one.asker.identity == client]
        if len(mine) > 1:
            self.turns[priority].append(client)
        self.waiting.remove(mine[0])
        return mine[0]

    def remove(self, request: Request) -> None:
        """It waits no more; if it was its client's last, the client loses its turn."""
        if request in self.again:
            self.again.remove(request)
            return
        self.waiting.remove(request)
        key = (request.priority, request.asker.identity)
        if key not in {(one.priority, one.asker.identity) for one in self.waiting}:
            self.turns[request.priority].remove(request.asker.identity)


@given(steps)
def test_the_queue_agrees_with_a_list_and_a_note_of_whose_turn_it_is(history: list[tuple[str, object, object]]) -> None:
    line = Line("A", ServiceOptions())
    queue, model = FairQueue(), Turns()

    for what, who, priority in history:
        everything = model.again + model.waiting
        if what in ("add", "again"):
            request = Request(Asker(bytes(who)), b"", line, [b""], 0.0)  # type: ignore[call-overload]
            if what == "add":
                request.priority = int(priority)  # type: ignore[call-overload]
                queue.add(request)
                model.add(request)
            else:
                queue.add_again(request)
                model.again.append(request)
        elif not everything:
            continue
        elif what == "take":
            assert queue.take() is model.next()
        else:
            request = everything[int(who) % len(everything)]  # type: ignore[call-overload]
            model.remove(request)
            assert queue.remove(request) and not queue.remove(request)
        assert set(queue.all()) == set(model.again + model.waiting)
        assert len(queue) == queue.count == len(model.again) + len(model.waiting)
        assert [queue.ahead_of(one) for one in range(11)] == [
            len(model.again) + sum(request.priority >= one for request in model.waiting) for one in range(11)
        ]


@given(first=st.integers(1, 30), second=st.integers(1, 30), sizes=st.lists(st.integers(0, 5_000), max_size=60))
def test_two_clients_with_full_queues_are_served_in_turns_whatever_their_sizes(
    first: int, second: int, sizes: list[int]
) -> None:
    stage = Stage()
    bodies = iter([*sizes, *[1] * 60])
    for number in range(first):
        stage.ask(b"a", number, "A", b"a", bytes(next(bodies)))
    for number in range(second):
        stage.ask(b"b", number, "A", b"b", bytes(next(bodies)))

    stage.hello(b"w", "A")
    for _ in range(first + second - 1):
        stage.answer(b"w")
    served = stage.given(b"w")

    assert len(served) == first + second
    both = served[: 2 * min(first, second)]
    assert all(pair in ([b"a", b"b"], [b"b", b"a"]) for pair in zip_pairs(both))


def zip_pairs(served: list[bytes]) -> list[list[bytes]]:
    """The first and the second, the third and the fourth, and so on."""
    return [served[at : at + 2] for at in range(0, len(served), 2)]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40))
def test_the_higher_priority_goes_first_and_within_one_the_order_is_kept(priorities: list[int]) -> None:
    stage = Stage()
    for number, priority in enumerate(priorities):
        stage.ask(b"c", number, "A", b"%d %d" % (priority, number), priority=priority)

    stage.hello(b"w", "A", slots=len(priorities))

    served = [tuple(map(int, body.split())) for body in stage.given(b"w")]
    assert served == sorted(served, key=lambda one: (-one[0], one[1]))
