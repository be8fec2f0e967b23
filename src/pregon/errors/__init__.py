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
    │   ├── Disabled              disabled
    │   ├── SessionUnknown        session_unknown
    │   ├── DataLost              data_lost
    │   ├── NotRepeatable         not_repeatable
    │   ├── VersionUnknown        version_unknown
    │   ├── VersionUnserved       version_unserved
    │   ├── ServiceFailed         service_failed
    │   ├── PoisonRequest         poison_request
    │   ├── DeadlinePassed        deadline_passed
    │   ├── NotAMember            not_a_member
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
    │   ├── ServiceUnserved       service_unserved
    │   ├── QueueFull             queue_full
    │   ├── AnswerTimeout         answer_timeout
    │   ├── OutOfTurn             out_of_turn
    │   ├── WrittenMeanwhile      written_meanwhile
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

from pregon.errors.branches import Corrupt, PregonError, Rejected, Unavailable
from pregon.errors.corrupt import (
    AnswerMalformed,
    InternalError,
    StoreCorrupt,
    StoreTooNew,
)
from pregon.errors.rejected import (
    AckBeyondHead,
    AddressInUse,
    AlreadyExists,
    BadBatch,
    BadEvent,
    BadFilter,
    BadName,
    BadRequest,
    BadSchema,
    BadXml,
    Changed,
    DataDirectoryInUse,
    DataDirectoryReadOnly,
    DataLost,
    DeadlinePassed,
    Disabled,
    EndpointForbidden,
    Forbidden,
    LimitReached,
    MediaTypeUnknown,
    MethodUnknown,
    NotAcceptable,
    NotAMember,
    NotFound,
    NotPending,
    NotRepeatable,
    NotSecured,
    PoisonRequest,
    SchemaMismatch,
    ServiceFailed,
    SessionUnknown,
    SettingsInvalid,
    TooLarge,
    Unauthorized,
    VersionUnknown,
    VersionUnserved,
)
from pregon.errors.unavailable import (
    AnswerTimeout,
    BatchOutOfOrder,
    HubBusy,
    HubStopping,
    HubUnreachable,
    KeysUnavailable,
    OutOfTurn,
    QueueFull,
    RateLimited,
    ServiceUnserved,
    StoreFailed,
    StoreFull,
    WrittenMeanwhile,
)

__all__ = [
    "BY_CODE",
    "AckBeyondHead",
    "AddressInUse",
    "AlreadyExists",
    "AnswerMalformed",
    "AnswerTimeout",
    "BadBatch",
    "BadEvent",
    "BadFilter",
    "BadName",
    "BadRequest",
    "BadSchema",
    "BadXml",
    "BatchOutOfOrder",
    "Changed",
    "Corrupt",
    "DataDirectoryInUse",
    "DataDirectoryReadOnly",
    "DataLost",
    "DeadlinePassed",
    "Disabled",
    "EndpointForbidden",
    "Forbidden",
    "HubBusy",
    "HubStopping",
    "HubUnreachable",
    "InternalError",
    "KeysUnavailable",
    "LimitReached",
    "MediaTypeUnknown",
    "MethodUnknown",
    "NotAMember",
    "NotAcceptable",
    "NotFound",
    "NotPending",
    "NotRepeatable",
    "NotSecured",
    "OutOfTurn",
    "PoisonRequest",
    "PregonError",
    "QueueFull",
    "RateLimited",
    "Rejected",
    "SchemaMismatch",
    "ServiceFailed",
    "ServiceUnserved",
    "SessionUnknown",
    "SettingsInvalid",
    "StoreCorrupt",
    "StoreFailed",
    "StoreFull",
    "StoreTooNew",
    "TooLarge",
    "Unauthorized",
    "Unavailable",
    "VersionUnknown",
    "VersionUnserved",
    "WrittenMeanwhile",
    "error_from_code",
]


def _tree(root: type[PregonError]) -> dict[str, type[PregonError]]:
    found = {root.code: root}
    for branch in root.__subclasses__():
        found.update(_tree(branch))
    return found


BY_CODE = _tree(PregonError)


def error_from_code(code: str, message: str) -> PregonError:
    """The error that travelled as a code and a message, as an exception again."""
    return BY_CODE.get(code, PregonError)(message)
