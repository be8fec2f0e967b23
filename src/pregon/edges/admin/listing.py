"""A list that one looks through: what is searched for, how it is sorted, which page of it; all of it in the address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

from pregon.edges.admin.visit import Visit
from pregon.store.catalog_search import OFFSET_MAX, ListQuery
from pregon.store.ticket import Ticket

ROWS = 50
_PAGE_DIGITS_MAX = 7


class Listing:
    """One page of a list."""

    def __init__(self, visit: Visit, path: str, *, sort: str = "name", keep: Sequence[str] = ()) -> None:
        """`keep`: other parameters of the address that go with every link of the list."""
        query = visit.query
        self.path = path
        self.q = query.get("q", "").strip()[:160]
        self._default = sort
        self.sort = query.get("sort", sort)[:40]
        self.descending = query.get("down", "") == "1" if "sort" in query or "down" in query else sort not in _UPWARD
        page = query.get("page", "1")
        is_number = page.isascii() and page.isdigit() and len(page) <= _PAGE_DIGITS_MAX
        self.page = max(1, min(int(page), OFFSET_MAX // ROWS)) if is_number else 1
        self.kept = {name: query[name] for name in keep if query.get(name)}
        self.rows: list[Any] = []
        self.has_next = False

    def find(self, search: Callable[[ListQuery], Ticket[list[Any]]], **more: str) -> Listing:
        """Fill it with what a search of the gate finds; itself."""
        found = search(
            ListQuery(
                q=self.q,
                sort=self.sort,
                descending=self.descending,
                offset=(self.page - 1) * ROWS,
                rows=ROWS + 1,
                **more,
            )
        ).result()
        self.rows, self.has_next = found[:ROWS], len(found) > ROWS
        return self

    @property
    def is_narrowed(self) -> bool:
        """Whether something is searched for: an empty list then says another thing."""
        return bool(self.q or self.kept or self.page > 1)

    def link(self, **changes: Any) -> str:
        """The address of this list with some of it changed; an empty value leaves a parameter out."""
        values: dict[str, Any] = {**self.kept, "q": self.q}
        if self.sort != self._default or self.descending != (self._default not in _UPWARD):
            values |= {"sort": self.sort, "down": "1" if self.descending else ""}
        values |= changes
        shown = {name: value for name, value in values.items() if value not in ("", None)}
        return f"{self.path}?{urlencode(shown)}" if shown else self.path

    def link_sort(self, key: str) -> str:
        """The list sorted by a column: the other way round if it is already."""
        down = not self.descending if self.sort == key else key not in _UPWARD
        return self.link(sort=key, down="1" if down else "", page="")

    def link_page(self, page: int) -> str:
        """Another page of it."""
        return self.link(page=page if page > 1 else "")


_UPWARD = ("name", "subscriber", "mode")
"""Columns of names go up by themselves; those of numbers and times down."""
