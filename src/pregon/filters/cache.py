"""Compiled filters, kept: compiling one costs as much as examining several messages.

Promises:
- The texts of the filters kept have at most `KEPT_CHARACTERS_MAX` together, however many there are: what a filter
  takes when compiled grows with its text. The one that was used the longest ago goes first.
- May be used by several threads.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from pregon import limits
from pregon.filters.expression import Filter, compile_filter

KEPT_CHARACTERS_MAX = 256 * limits.KIB
"""Characters of the texts of all the filters kept; compiled, the worst take some hundred times as much."""


class FilterCache:
    """The filters that were used last."""

    def __init__(self, characters_max: int = KEPT_CHARACTERS_MAX) -> None:
        self._characters_max = characters_max
        self._filters: OrderedDict[str, Filter] = OrderedDict()
        self._characters = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._filters)

    def require(self, text: str) -> Filter:
        """The filter of a text, compiled now or before; raises BadFilter."""
        with self._lock:
            if (kept := self._filters.get(text)) is not None:
                self._filters.move_to_end(text)
                return kept
        compiled = compile_filter(text)
        with self._lock:
            if text not in self._filters:
                self._characters += len(text)
                self._filters[text] = compiled
            while self._characters > self._characters_max:
                forgotten, _ = self._filters.popitem(last=False)
                self._characters -= len(forgotten)
        return compiled
