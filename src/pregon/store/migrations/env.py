"""What Alembic calls: run the steps on the connection and inside the transaction that `store.migrate` has open."""

from __future__ import annotations

from alembic import context

from pregon.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=False,
    render_as_batch=True,
)
context.run_migrations()
