"""Where keys are made, listed and revoked: at a running hub, or in the data directory of one that is not running.

The second is how a hub gets its first administrator before anybody can reach it. What a key may be is the hub's to
decide, in both cases by the same code; what is shown of it is left to `keys`.

Promises:
- A directory in which a hub is running is refused with DataDirectoryInUse, and nothing in it is touched.
- Whatever happens, the directory is given back: no hub is left running.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from pregon.cli.connect import connect
from pregon.errors import BadRequest, NotFound

if TYPE_CHECKING:
    from pregon.client import Client
    from pregon.hub.hub import Hub
    from pregon.security.callers import Caller


class KeyPlace(Protocol):
    """Who has the keys."""

    def create(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """Make a key; the only answer with its secret."""
        ...

    def list(self, kind: str, owner: str) -> list[dict[str, Any]]:
        """The keys of a kind, of one owner if it is named, without their secrets."""
        ...

    def revoke(self, kind: str, owner: str, key_id: str) -> bool:
        """End a key at once; whether there was one."""
        ...


class _RunningHub:
    def __init__(self, client: Client) -> None:
        self._client = client

    def create(self, wanted: dict[str, Any]) -> dict[str, Any]:
        return self._client.create("key", **wanted)

    def list(self, kind: str, owner: str) -> list[dict[str, Any]]:
        return self._client.list("key", names=[kind, owner])

    def revoke(self, kind: str, owner: str, key_id: str) -> bool:
        return self._client.delete("key", kind, owner, key_id)


class _Directory:
    def __init__(self, hub: Hub) -> None:
        from pregon.hub.gate import Gate

        self._gate = Gate(hub)
        self._caller = who_has_directory()

    def create(self, wanted: dict[str, Any]) -> dict[str, Any]:
        from pregon.hub.access import NewKey

        made = self._gate.create_key(self._caller, msgspec.convert(wanted, NewKey)).result()
        shown: dict[str, Any] = msgspec.to_builtins(made)
        return shown

    def list(self, kind: str, owner: str) -> list[dict[str, Any]]:
        return [msgspec.to_builtins(key) for key in self._gate.list_keys(self._caller, kind, owner).result()]

    def revoke(self, kind: str, owner: str, key_id: str) -> bool:
        return self._gate.revoke_key(self._caller, kind, owner, key_id).result()


def who_has_directory() -> Caller:
    """Who works in a data directory, for the gate and the audit: whoever may write there may do anything."""
    from pregon.security.callers import Caller, scopes_of
    from pregon.security.keys import ADMIN

    return Caller(name="data directory", scopes=scopes_of((ADMIN,)))


@contextmanager
def open_keys(hub: str | None, data: Path | None, *, may_make: bool = False) -> Iterator[KeyPlace]:
    """The keys of the hub that is named, or of a directory; `may_make`: one that is not there is made."""
    if data is None:
        with connect(hub) as client:
            yield _RunningHub(client)
        return
    if hub is not None:
        raise BadRequest("--hub asks a hub that is running, --data works in the directory of one that is not: give one")
    with open_directory(data, may_make) as opened:
        yield _Directory(opened)


@contextmanager
def open_directory(data: Path, may_make: bool) -> Iterator[Hub]:
    """A hub without doors on a directory where none is running; raises NotFound if there is nothing there."""
    # Imported here, so that every other command starts without the hub.
    from pregon.hub.hub import Hub
    from pregon.store.database import DATABASE_FILE, SqliteDatabase

    if not may_make and not (data / DATABASE_FILE).exists():
        raise NotFound(f"there is no hub's database in {data}: name the data directory that `pregon serve` uses")
    with ExitStack() as undo:
        database = SqliteDatabase(data)
        undo.callback(database.close)
        hub = Hub(database)
        hub.start()
        undo.callback(hub.stop)
        yield hub
