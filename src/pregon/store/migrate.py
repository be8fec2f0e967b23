"""Bring a database to the schema of this version, by itself, at start.

An older database is upgraded step by step (Alembic, `migrations/versions`); a newer one is refused, because
this program cannot know what it would break.
"""

from __future__ import annotations

import logging
from pathlib import Path

from sqlalchemy import inspect, text
from sqlalchemy.exc import DBAPIError

from pregon.errors import StoreCorrupt, StoreTooNew
from pregon.store.database import Database
from pregon.store.schema import HEAD_REVISION

log = logging.getLogger("pregon.store")

MIGRATIONS = Path(__file__).parent / "migrations"


def find_revision(database: Database) -> str | None:
    """The revision of the database, None for an empty one; raises StoreCorrupt for a stranger's."""
    with database.connect() as connection:
        try:
            tables = set(inspect(connection).get_table_names())
            if "alembic_version" in tables:
                row = connection.execute(text("SELECT version_num FROM alembic_version")).first()
                return None if row is None else str(row[0])
        except DBAPIError as error:
            raise database.translate(error) from error
    if tables:
        raise StoreCorrupt(
            f"the database has tables ({', '.join(sorted(tables)[:5])} …) that are not Pregón's: choose another"
        )
    return None


def migrate(database: Database, target: str = HEAD_REVISION) -> None:
    """Upgrade to `target`; raises StoreTooNew for a database of a later version."""
    revision = find_revision(database)
    if revision == target:
        return
    # Imported only when there is something to do: it costs half of a start.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    if revision is not None:
        try:
            ScriptDirectory.from_config(config).get_revision(revision)
        except CommandError as error:
            raise StoreTooNew(
                f"the database is at revision {revision}, this Pregón knows up to {HEAD_REVISION}: "
                "install the newer Pregón that wrote it, or restore a backup from before"
            ) from error
    # SQLAlchemy's own transaction does nothing on a connection in autocommit, but tells Alembic to leave ours alone.
    with database.connect() as connection, connection.begin():
        config.attributes["connection"] = connection
        try:
            database.begin_write(connection, durable=True)
            command.upgrade(config, target)
            database.commit(connection)
        except DBAPIError as error:
            database.rollback(connection)
            raise database.translate(error) from error
        except BaseException:  # Whatever it was, half a step must not stay.
            database.rollback(connection)
            raise
    log.info("database migrated", extra={"from": revision or "empty", "to": target})
