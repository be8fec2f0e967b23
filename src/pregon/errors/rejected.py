"""What the caller must change: sending it again gives the same answer."""

from __future__ import annotations

from pregon.errors.branches import Rejected


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


class Disabled(Rejected):
    """The topic, or who publishes to it, was disabled: nothing is accepted until it is enabled."""

    code = "disabled"


class SessionUnknown(Rejected):
    """The hub has no memory of this producer session, or of a batch number so old."""

    code = "session_unknown"


class DataLost(Rejected):
    """Messages that were to be read are there no more: retention removed them, or their topic was deleted."""

    code = "data_lost"


class NotRepeatable(Rejected):
    """A task that was tried again made other rows than the first time, which had been stored already."""

    code = "not_repeatable"


class VersionUnknown(Rejected):
    """The peer speaks a version of PREGON that this hub does not."""

    code = "version_unknown"


class VersionUnserved(Rejected):
    """No worker serves the version of the service that was asked for."""

    code = "version_unserved"


class ServiceFailed(Rejected):
    """The worker answered that it failed; its message says why."""

    code = "service_failed"


class PoisonRequest(Rejected):
    """Worker after worker was lost with this request; it is set aside for a person to look at."""

    code = "poison_request"


class DeadlinePassed(Rejected):
    """The answer would come, or came, after the deadline that the client gave."""

    code = "deadline_passed"


class NotAMember(Rejected):
    """Who asks is not a member of the group, or no longer: join it first."""

    code = "not_a_member"


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
