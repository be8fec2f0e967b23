"""What is broken: a person must look."""

from __future__ import annotations

from pregon.errors.branches import Corrupt


class StoreCorrupt(Corrupt):
    """The database file is damaged or is not a database of Pregón."""

    code = "store_corrupt"


class StoreTooNew(Corrupt):
    """The database was written by a newer Pregón than this one."""

    code = "store_too_new"


class AnswerMalformed(Corrupt):
    """The hub answered something that this client cannot read."""

    code = "answer_malformed"


class InternalError(Corrupt):
    """A bug in the hub; its log has the details."""

    code = "internal_error"
