"""What both maps do alike: turn inputs into asks as there is room, and answers into results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from pregon.client.services.arguments import encode_arguments
from pregon.client.services.ask import Ask, AskOptions, ask_request
from pregon.client.services.window import Window
from pregon.errors import PregonError


class Mapping:
    """One map over many inputs. Each input is the argument, or a tuple of arguments, of one request."""

    def __init__(
        self, name: str, inputs: Iterable[Any], in_flight: int, default_ms: float, options: AskOptions
    ) -> None:
        self.window = Window(in_flight)
        self._name = name
        self._inputs: Iterator[Any] = iter(inputs)
        self._default_ms = default_ms
        self._options = options
        self._is_exhausted = False

    @property
    def is_over(self) -> bool:
        """Whether every input has been asked and taken."""
        return self._is_exhausted and not len(self.window)

    @property
    def is_ready(self) -> bool:
        """Whether there is a result to give, or room to ask for more."""
        return self.window.is_next_done or (self.window.room > 0 and not self._is_exhausted)

    def next_asks(self) -> list[Ask]:
        """The asks for which there is room now; raises what is wrong with an input."""
        room = 0 if self._is_exhausted else self.window.room
        asks = []
        for value in islice(self._inputs, room):
            body = encode_arguments(value if type(value) is tuple else (value,))
            ask = ask_request(self._name, body, self._default_ms, self._options)
            ask.waiter = self.window
            self.window.add(ask)
            asks.append(ask)
        if len(asks) < room:
            self._is_exhausted = True
        return asks


def result_of(ask: Ask, wanted: Any, *, return_errors: bool) -> Any:
    """The result, or the error in its place where that is wanted; raises it otherwise."""
    try:
        return ask.result(wanted)
    except PregonError as error:
        if not return_errors:
            raise
        return error
