"""What all the tables have in common; see `schema`."""

from __future__ import annotations

from sqlalchemy import BigInteger, Integer, MetaData, text

HEAD_REVISION = "0009"
"""The newest migration: a database at another revision is upgraded, or refused if it is newer."""

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

# SQLite makes only an INTEGER PRIMARY KEY count by itself; elsewhere 64 bits are asked for.
Id = BigInteger().with_variant(Integer(), "sqlite")
ZERO = text("0")
