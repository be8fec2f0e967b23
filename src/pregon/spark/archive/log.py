"""The commits of a table, read and written.

Whoever wants to change the table reads its state, makes a commit that fits it, and puts it under the next number. Where
somebody else was faster, it reads again and asks whether the change still fits: so streams and compaction may run at
once, in one process or in many. Every `FOLD_EVERY` commits are folded into one file, and what a fold covers is removed
when there is a later fold, so that opening an archive reads few files however long it has been written.

Promises:
- A commit is there whole or not at all, and its number is never given twice.
- A number that is missing between two others is an error, never a shorter table.
"""

from __future__ import annotations

from collections.abc import Callable

from pregon.clock import wall_us
from pregon.errors import StoreCorrupt, StoreFailed
from pregon.spark.archive.commits import Commit, Fold, State, decode, encode, fold_of, state_of
from pregon.spark.archive.files import Files
from pregon.spark.archive.layout import Kept, commits_folder, find_number, folds_folder, numbered

FOLD_EVERY = 32
_FOLDS_KEPT = 2
_READS_MAX = 5
_CONFLICTS_MAX = 50


class CommitLog:
    """The commits of one table of an archive. It remembers what it read, and reads only what is new."""

    def __init__(self, files: Files, kept: Kept) -> None:
        self._files = files
        self._commits, self._folds = commits_folder(kept), folds_folder(kept)
        self._known = State()

    def load(self) -> State:
        """What is in the table now; raises StoreCorrupt if the commits do not say."""
        missing = ""
        for _ in range(_READS_MAX):
            try:
                base = self._known if self._known.version else self._newest_fold()
                numbers = sorted(number for number in self._numbers(self._commits) if number > base.version)
                gaps = [want for want, got in enumerate(numbers, base.version + 1) if want != got]
                if not gaps:
                    self._known = base.after(self._read(number) for number in numbers)
                    return self._known
                missing = numbered(gaps[0])
            except FileNotFoundError as error:
                missing = str(error.filename or error).rpartition("/")[2]
            # What was listed may be removed because it has been folded: then there is a later fold.
            self._known = State()
        raise StoreCorrupt(f"{missing} is missing in {self._commits} of the archive: put it back from a copy")

    def commit(self, make: Callable[[State], Commit]) -> State:
        """Put the commit that `make` gives for the present state; it is asked again when somebody else was faster."""
        for _ in range(_CONFLICTS_MAX):
            state = self.load()
            commit = make(state)
            after = state.after([commit])
            if self._files.put_if_absent(f"{self._commits}/{numbered(commit.version)}", encode(commit)):
                self._known = after
                if after.version % FOLD_EVERY == 0:
                    self._fold(after)
                return after
        raise StoreFailed(f"others committed to the archive {_CONFLICTS_MAX} times meanwhile: try again")

    def _fold(self, state: State) -> None:
        """Write the state down, and remove what the fold before it covers."""
        # The name says what it holds: whoever wrote it first wrote the same.
        self._files.put_if_absent(f"{self._folds}/{numbered(state.version)}", encode(fold_of(state, wall_us())))
        folds = sorted(self._numbers(self._folds))
        for number in folds[:-_FOLDS_KEPT]:
            self._files.delete(f"{self._folds}/{numbered(number)}")
        if len(folds) >= _FOLDS_KEPT:
            for number in self._numbers(self._commits):
                if number <= folds[-_FOLDS_KEPT]:
                    self._files.delete(f"{self._commits}/{numbered(number)}")

    def _newest_fold(self) -> State:
        """The state that was written down last, or an empty one."""
        newest = max(self._numbers(self._folds), default=0)
        if not newest:
            return State()
        name = f"{self._folds}/{numbered(newest)}"
        return state_of(decode(Fold, self._files.read(name), name))

    def _read(self, number: int) -> Commit:
        name = f"{self._commits}/{numbered(number)}"
        return decode(Commit, self._files.read(name), name)

    def _numbers(self, folder: str) -> list[int]:
        return [number for name in self._files.names(folder) if (number := find_number(name)) is not None]
