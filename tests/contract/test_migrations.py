"""A database is brought to the schema of this version by itself; a newer one and a stranger's are refused."""

from collections.abc import Callable

import pytest
from alembic import op
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from pregon.errors import StoreCorrupt, StoreTooNew
from pregon.hub.hub import Hub
from pregon.store.database import Database
from pregon.store.migrate import find_revision, migrate
from pregon.store.schema import HEAD_REVISION, metadata

from .site import Site
from .verbs import pending, read, say, say_as, subscribe

FIRST_REVISION = "0001"
ROWS = {
    "topic": "INSERT INTO topic (id, name, head_seq, accepted_us, created_us) VALUES (1, 'births', 0, 5, 1)",
    "producer": "INSERT INTO producer (id, name, created_us) VALUES (1, 'registry', 1)",
    "subscriber": "INSERT INTO subscriber (id, name, created_us) VALUES (1, 'bank', 1)",
    "subscription": "INSERT INTO subscription (id, topic_id, subscriber_id, first_seq, acked_seq, created_us)"
    " VALUES (1, 1, 1, 1, 0, 1)",
    "dedupe": "INSERT INTO dedupe (topic_id, producer_id, message_id, seq, at_us) VALUES (1, 1, 'x', 7, 5)",
}


def write(database: Database, *statements: str) -> None:
    """Carry statements out in one transaction."""
    with database.connect() as connection:
        database.begin_write(connection, durable=True)
        for statement in statements:
            connection.exec_driver_sql(statement)
        database.commit(connection)


def has_other_default(_context: object, _there: object, _wanted: object, *defaults: str | None) -> bool:
    """Whether a column's default is not that of `schema`, however the database writes it."""
    there, _, wanted = defaults
    plain = [None if default is None else default.split("::")[0].strip("()'") for default in (there, wanted)]
    return plain[0] != plain[1]


def differences(database: Database) -> list[object]:
    """In what the tables of the database are not those of `schema`."""
    options = {"compare_type": True, "compare_server_default": has_other_default}
    with database.connect() as connection:
        return list(compare_metadata(MigrationContext.configure(connection, opts=options), metadata))


def test_an_empty_database_is_brought_to_the_newest_revision(database: Database) -> None:
    before = find_revision(database)

    migrate(database)

    assert (before, find_revision(database)) == (None, HEAD_REVISION)


def test_the_migrations_make_exactly_the_tables_of_the_schema(database: Database) -> None:
    migrate(database)

    found = differences(database)

    assert found == []
    with database.connect() as connection:
        assert set(inspect(connection).get_table_names()) == {*metadata.tables, "alembic_version"}


def test_migrating_twice_changes_nothing(database: Database) -> None:
    migrate(database)
    write(database, ROWS["topic"])

    migrate(database)

    with database.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM topic")).scalar_one() == 1


def test_a_database_of_the_first_revision_is_upgraded_and_keeps_its_rows(database: Database) -> None:
    migrate(database, FIRST_REVISION)
    first = find_revision(database)
    write(database, *ROWS.values())

    migrate(database)

    assert (first, find_revision(database)) == (FIRST_REVISION, HEAD_REVISION)
    assert differences(database) == []
    with database.connect() as connection:
        counts = [connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() for table in ROWS]
    assert counts == [1] * len(ROWS)


def test_a_hub_works_on_a_database_that_it_upgraded(open_database: Callable[[], Database]) -> None:
    database = open_database()
    migrate(database, FIRST_REVISION)
    write(database, *ROWS.values())
    database.close()
    site = Site(open_database)

    hub = site.start()
    try:
        again, numbers, waiting = say_as(hub, "x"), say(hub, "a"), pending(hub)
    finally:
        site.stop()

    assert (again.seq, again.duplicate) == (7, True)
    assert numbers == waiting == [1]


def test_a_database_of_a_later_version_is_refused_and_left_alone(open_database: Callable[[], Database]) -> None:
    database = open_database()
    migrate(database)
    write(database, "UPDATE alembic_version SET version_num = '9999'", ROWS["topic"])

    with pytest.raises(StoreTooNew, match="9999"):
        Hub(database)

    assert find_revision(database) == "9999"
    database.close()


def test_the_database_of_a_stranger_is_refused_and_left_alone(database: Database) -> None:
    write(database, "CREATE TABLE customers (name VARCHAR(10))")

    with pytest.raises(StoreCorrupt, match="customers"):
        Hub(database)

    with database.connect() as connection:
        assert inspect(connection).get_table_names() == ["customers"]


def test_a_migration_that_fails_leaves_nothing_behind(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(*_arguments: object, **_options: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(op, "create_index", break_down)
    with pytest.raises(ZeroDivisionError):
        migrate(database)
    monkeypatch.undo()

    assert find_revision(database) is None
    migrate(database)
    assert differences(database) == []


def test_an_upgrade_keeps_what_was_published(site: Site) -> None:
    say(site.hub, "a", "b")
    subscribe(site.hub)
    site.stop()

    hub = site.start()

    assert [message.text for message in read(hub)] == ["a", "b"]
    assert pending(hub) == [1, 2]
