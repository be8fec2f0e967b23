"""Every error that Pregón raises or sends, in one tree.

Three branches say what the caller can do about it:

    PregonError
    ├── Rejected              change the request: sending it again gives the same answer
    │   ├── BadRequest            bad_request
    │   ├── BadName               bad_name
    │   ├── BadBatch              bad_batch
    │   ├── BadXml                bad_xml
    │   ├── BadEvent              bad_event
    │   ├── BadSchema             bad_schema
    │   ├── BadFilter             bad_filter
    │   ├── EndpointForbidden     endpoint_forbidden
    │   ├── SchemaMismatch        schema_mismatch
    │   ├── TooLarge              too_large
    │   ├── NotFound              not_found
    │   ├── AlreadyExists         already_exists
    │   ├── Unauthorized          unauthorized
    │   ├── Forbidden             forbidden
    │   ├── NotSecured            not_secured
    │   ├── Changed               changed
    │   ├── NotAcceptable         not_acceptable
    │   ├── MediaTypeUnknown      media_type_unknown
    │   ├── MethodUnknown         method_unknown
    │   ├── LimitReached          limit_reached
    │   ├── AckBeyondHead         ack_beyond_head
    │   ├── NotPending            not_pending
    │   ├── SessionUnknown        session_unknown
    │   ├── VersionUnknown        version_unknown
    │   ├── SettingsInvalid       settings_invalid
    │   ├── DataDirectoryInUse    data_directory_in_use
    │   ├── DataDirectoryReadOnly data_directory_read_only
    │   └── AddressInUse          address_in_use
    ├── Unavailable           nothing was lost: try the same request again, later
    │   ├── HubBusy               hub_busy
    │   ├── RateLimited           rate_limited
    │   ├── KeysUnavailable       keys_unavailable
    │   ├── HubStopping           hub_stopping
    │   ├── HubUnreachable        hub_unreachable
    │   ├── BatchOutOfOrder       batch_out_of_order
    │   ├── StoreFull             store_full
    │   └── StoreFailed           store_failed
    └── Corrupt               something is broken and a person must look
        ├── StoreCorrupt          store_corrupt
        ├── StoreTooNew           store_too_new
        ├── AnswerMalformed       answer_malformed
        └── InternalError         internal_error

`code` is stable: programs may compare it. The message is for people and says what to do next.
"""

from __future__ import annotations

from typing import ClassVar


class PregonError(Exception):
    """The root: catch this one to catch everything that Pregón raises."""

    code: ClassVar[str] = "error"
    exit_status: ClassVar[int] = 1

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return isinstance(self, Unavailable)


class Rejected(PregonError):
    """The request cannot succeed as it is; change it."""

    code = "rejected"
    exit_status = 2


class BadRequest(Rejected):
    """A field is missing, of the wrong type or out of range."""

    code = "bad_request"


class BadName(Rejected):
    """A name has characters or a length that names may not have."""

    code = "bad_name"


class BadBatch(Rejected):
    """The bytes are not a batch of messages that the hub can store."""

    code = "bad_batch"


class BadXml(Rejected):
    """The bytes are not XML that the hub reads: not well-formed, with a DTD, or past a limit."""

    code = "bad_xml"


class BadEvent(Rejected):
    """The request is not an event as CloudEvents 1.0 has them."""

    code = "bad_event"


class BadSchema(Rejected):
    """The schema itself cannot be used."""

    code = "bad_schema"


class BadFilter(Rejected):
    """The filter of a subscription cannot be used."""

    code = "bad_filter"


class EndpointForbidden(Rejected):
    """The hub may not push to that address; its operator can allow it."""

    code = "endpoint_forbidden"


class SchemaMismatch(Rejected):
    """The body does not fit the schema of its topic: nothing was stored."""

    code = "schema_mismatch"


class TooLarge(Rejected):
    """A body, batch or answer passes its limit."""

    code = "too_large"


class NotFound(Rejected):
    """The topic, producer, subscriber, subscription or message does not exist."""

    code = "not_found"
    exit_status = 3


class AlreadyExists(Rejected):
    """There is one with that name already, and it is not the same."""

    code = "already_exists"


class Unauthorized(Rejected):
    """Who asks did not say who it is, or its key is unknown, wrong, revoked or expired."""

    code = "unauthorized"
    exit_status = 7


class NotSecured(Rejected):
    """The hub was told to listen beyond this machine while anybody could do anything there."""

    code = "not_secured"
    exit_status = 4


class Changed(Rejected):
    """Somebody changed the entry since it was read: read it again and decide anew."""

    code = "changed"


class NotAcceptable(Rejected):
    """The hub has this answer in none of the forms that the request accepts."""

    code = "not_acceptable"


class MediaTypeUnknown(Rejected):
    """The hub does not take a body of this media type here."""

    code = "media_type_unknown"


class MethodUnknown(Rejected):
    """This address does not have this HTTP method."""

    code = "method_unknown"


class Forbidden(Rejected):
    """It does not exist, or is not for who asks: the answer is the same for both."""

    code = "forbidden"


class LimitReached(Rejected):
    """One more would pass a limit of the hub."""

    code = "limit_reached"


class AckBeyondHead(Rejected):
    """The acknowledged number has not been published yet."""

    code = "ack_beyond_head"


class NotPending(Rejected):
    """The message is not in the state that the verb needs (pending to park, parked to unpark)."""

    code = "not_pending"


class SessionUnknown(Rejected):
    """The hub has no memory of this producer session, or of a batch number so old."""

    code = "session_unknown"


class VersionUnknown(Rejected):
    """The peer speaks a version of PREGON that this hub does not."""

    code = "version_unknown"


class SettingsInvalid(Rejected):
    """A setting in the file, the environment or the command line has a wrong name or value."""

    code = "settings_invalid"


class DataDirectoryInUse(Rejected):
    """Another hub is running on this data directory."""

    code = "data_directory_in_use"
    exit_status = 4


class DataDirectoryReadOnly(Rejected):
    """The data directory cannot be created or written."""

    code = "data_directory_read_only"
    exit_status = 4


class AddressInUse(Rejected):
    """Another program listens on an address that the hub was told to bind."""

    code = "address_in_use"
    exit_status = 4


class Unavailable(PregonError):
    """Not now; the same request may succeed later."""

    code = "unavailable"
    exit_status = 5


class HubBusy(Unavailable):
    """A queue of the hub is full: send again after a pause."""

    code = "hub_busy"


class RateLimited(Unavailable):
    """This key asks more often than it may: send again after a pause."""

    code = "rate_limited"


class KeysUnavailable(Unavailable):
    """The identity provider's keys could not be fetched yet, so its tokens cannot be checked."""

    code = "keys_unavailable"


class HubStopping(Unavailable):
    """The hub is shutting down; what it had acknowledged is on disk."""

    code = "hub_stopping"


class HubUnreachable(Unavailable):
    """No answer in time; the request may or may not have been carried out, and may be repeated."""

    code = "hub_unreachable"


class BatchOutOfOrder(Unavailable):
    """An earlier batch of the producer session is missing: send from there on again."""

    code = "batch_out_of_order"


class StoreFull(Unavailable):
    """The disk is full: nothing of this request was stored."""

    code = "store_full"


class StoreFailed(Unavailable):
    """The database refused the transaction: nothing of this request was stored."""

    code = "store_failed"


class Corrupt(PregonError):
    """Something is broken and a person must look."""

    code = "corrupt"
    exit_status = 6


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


def _tree(root: type[PregonError]) -> dict[str, type[PregonError]]:
    found = {root.code: root}
    for branch in root.__subclasses__():
        found.update(_tree(branch))
    return found


BY_CODE = _tree(PregonError)


def error_from_code(code: str, message: str) -> PregonError:
    """The error that travelled as a code and a message, as an exception again."""
    return BY_CODE.get(code, PregonError)(message)
