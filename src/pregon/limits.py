"""The limit on everything that comes from outside or could grow.

Nothing in Pregón is unbounded. A constant here is the hard ceiling that the program never passes;
what an operator may tune below it is in `settings`. Units come last in each name.
"""

KIB = 1024
MIB = 1024 * 1024

INTEGER_MAX = 2**63 - 1
"""The largest number that is stored or travels."""
NAME_CHARACTERS_MAX = 128
"""Length of a topic, producer or subscriber name."""
DESCRIPTION_CHARACTERS_MAX = 1_000
"""Length of a description in the catalogue."""
MESSAGE_ID_BYTES_MAX = 200
"""Length of a message id, in UTF-8."""
KEY_BYTES_MAX = 1_024
"""Length of a message key, in UTF-8."""
CONTENT_TYPE_BYTES_MAX = 255
"""Length of a content type, in UTF-8."""
HEADERS_MAX = 64
"""Headers of one message."""
HEADERS_BYTES_MAX = 16 * KIB
"""Names and values of all the headers of one message, in UTF-8."""
BODY_BYTES_MAX = 3 * MIB
"""Body of one message, whatever the hub is set to."""
BODY_BYTES_DEFAULT = 1 * MIB
"""Body of one message, unless the hub is set to another limit."""

BATCH_MESSAGES_MAX = 10_000
"""Messages of one batch."""
BATCH_BYTES_MAX = 4 * MIB
"""Arrow bytes of one batch."""
FRAME_BYTES_MAX = 16 * MIB
"""A ZeroMQ frame larger than this closes its connection before it is read."""
HEADER_BYTES_MAX = 64 * KIB
"""The header frame of a PREGON/1 request, and the head of an HTTP request."""

PULL_MESSAGES_MAX = 10_000
"""Messages of one answer to a pull."""
PULL_BYTES_MAX = 8 * MIB
"""Arrow bytes of one answer to a pull, but for its first message, which always goes."""
WAIT_MS_MAX = 60_000
"""How long a pull may wait for something new."""
WAITERS_MAX = 10_000
"""Pulls waiting at once."""

TOPICS_MAX = 10_000
"""Topics of one hub."""
PRODUCERS_MAX = 100_000
"""Producers of one hub."""
SUBSCRIBERS_MAX = 100_000
"""Subscribers of one hub."""
SUBSCRIPTIONS_MAX = 100_000
"""Subscriptions of one hub."""
PARKED_MAX = 10_000
"""Messages set aside in one subscription, whether parked or unparked and not yet acknowledged."""
LIST_ROWS_MAX = 1_000
"""Rows of one page of a listing or of a search in the traces."""

COMMIT_QUEUE_OPERATIONS_MAX = 20_000
"""Operations waiting for the committer; one more gets `hub_busy`."""
COMMIT_QUEUE_BYTES_MAX = 64 * MIB
"""Bytes of the operations waiting for the committer."""
COMMIT_OPERATIONS_MAX = 2_000
"""Operations of one transaction."""
COMMIT_BYTES_MAX = 8 * MIB
"""Bytes of the operations of one transaction, but for the first, which always goes."""
READ_QUEUE_MAX = 10_000
"""Reads waiting for a reader thread; one more gets `hub_busy`."""
SESSION_BATCHES_REMEMBERED = 128
"""Last batches of a producer session whose repetition is recognised."""
TRACE_SPAN_MAX = 10_000
"""Messages that one trace row may span; longer ranges are written as several rows."""
TRACE_MARKS_MAX = 16
"""Marks up to which traces are copied."""
FEED_QUEUE_BATCHES_MAX = 64
"""Batches waiting for the live feed; what passes it is not shown live, and counted."""

XML_DEPTH_MAX = 100
"""Elements inside one another in XML from outside."""
XML_ELEMENTS_MAX = 200_000
"""Elements of one XML document from outside."""
XML_ATTRIBUTES_MAX = 100
"""Attributes of one element, namespaces included."""
XML_ATTRIBUTE_BYTES_MAX = 64 * KIB
"""Bytes of one attribute."""
SCHEMA_BYTES_MAX = 256 * KIB
"""Text of a topic's schema."""
SCHEMA_MAX_OCCURS_MAX = 1_000
"""The largest number of occurrences in an XSD, other than unbounded: the checker expands them."""
SCHEMA_VERSIONS_MAX = 1_000
"""Versions of one topic's schema."""

REQUEST_BYTES_MAX = 8 * MIB
"""Body of an HTTP request, whatever it is for."""
REQUESTS_BYTES_MAX = 256 * MIB
"""Bodies of large HTTP requests being read and worked on at once, together; one more gets `hub_busy`."""
REQUEST_JSON_BYTES_MAX = 64 * KIB
"""Body of an HTTP request that is no message: a pull, a change of the catalogue."""
HTTP_CONNECTIONS_MAX = 1_000
"""HTTP connections at once; one more is answered with 503."""
STREAMS_MAX = 500
"""Streams over HTTP at once: live ones (SSE and WebSocket) and ranges of topics as tables."""
STREAMS_AHEAD_MAX = 32
"""With more streams open than this, a table is read no further before its client has taken what it was sent."""
STREAM_STALLED_MS_MAX = 300_000
"""How long the client of a stream may take nothing of it, and a second longer for each 2 KiB that it was sent."""
STREAM_RANGE_BYTES_MAX = 1 * MIB
"""Arrow bytes that an HTTP answer reads from the store at a time."""
TABLE_PARTS_AT_ONCE_MAX = 1
"""Parts of tables being read from the store and put together at once; the others wait for their turn."""

KEYS_PER_OWNER_MAX = 8
"""Keys of one producer, subscriber or token name that are valid at once."""
KEYS_MAX = 200_000
"""Keys of one hub."""
BEARER_BYTES_MAX = 8 * KIB
"""A key or token as it is presented."""
OIDC_KEYS_BYTES_MAX = 256 * KIB
"""The document with the identity provider's keys."""
OIDC_KEYS_MAX = 100
"""Keys of the identity provider."""

ENDPOINT_CHARACTERS_MAX = 2_000
"""Length of the URL to which messages are pushed."""
PUSH_TIME_LIMIT_MS_MAX = 120_000
"""How long a subscriber may at most be given to answer a push."""
PUSH_DELAY_MS_MAX = 24 * 60 * 60 * 1_000
"""The longest wait between two attempts of a push, whatever the subscriber asks for."""
PUSH_PARALLEL_MAX = 64
"""Pushes at once in one subscription."""
PUSHES_AT_ONCE_MAX = 1_000
"""Pushes at once to subscribers that answer."""
PROBES_AT_ONCE_MAX = 200
"""Pushes at once to subscribers that fail, one to each."""
PUSH_IDLE_CONNECTIONS_MAX = 1_000
"""Connections for pushes that are kept for the next one while nothing is on its way."""
PUSH_ANSWER_BYTES_MAX = 64 * KIB
"""What is read of the answer to a push."""
PUSHES_WRITTEN_TOGETHER = 32
"""Deliveries of one subscription that are written down at once; until then, 50 ms at most, a crash repeats them."""
PUSH_UNSETTLED_MAX = 256
"""Messages of one subscription that were pushed and are not yet written down as delivered."""
PUSH_READ_MESSAGES_MAX = 256
"""Messages of one subscription that are read ahead to be pushed."""
PUSH_READ_BYTES_MAX = 1 * MIB
"""Their Arrow bytes, but for the first, which always goes."""
SIGNING_SECRETS_MAX = 4
"""Signing secrets of one subscriber that are valid at once."""
REHEARSALS_AT_ONCE_MAX = 4
"""Tests of subscribers' web services at once; one more gets `hub_busy`."""
REHEARSAL_BODY_BYTES_MAX = 64 * KIB
"""Body of the message of such a test; and what is shown of the request, and of the answer."""

FILTER_BYTES_MAX = 8 * KIB
"""Text of a subscription's filter."""
FILTER_DEPTH_MAX = 8
"""Conditions of a filter inside one another."""
FILTER_CONDITIONS_MAX = 32
"""Conditions of one filter."""
FILTER_REASON_CHARACTERS_MAX = 200
"""Length of the reason that travels with a message that a filter let pass."""
EXAMINE_MESSAGES_MAX = 500
"""Messages that a filter looks at in one go."""

SERVICES_MAX = 1_000
"""Job types, versions counted apart, that a broker knows at once."""
SERVICE_WORKERS_MAX = 20_000
"""Workers of one broker."""
SERVICE_TYPES_MAX = 100
"""Job types that one worker serves."""
SERVICE_SLOTS_MAX = 1_000
"""Requests that one worker takes at once."""
SERVICE_HEAD_BYTES_MAX = 16 * KIB
"""The head frame of a request to a service or of its answer."""
SERVICE_FRAMES_MAX = 64
"""Frames of the body of a request or an answer."""
SERVICE_BODY_BYTES_MAX = 8 * MIB
"""Their bytes together."""
SERVICE_ENVELOPE_FRAMES_MAX = 8
"""Frames before the delimiter: as many brokers may stand between a client and this one."""
SERVICE_WAIT_MS_MAX = 24 * 60 * 60 * 1_000
"""The longest time limit of a request, whatever asks for it."""
SERVICE_QUEUE_MAX = 100_000
"""Requests that wait in one service, whatever it is set to."""
SERVICE_QUEUED_BYTES_MAX = 256 * MIB
"""Bodies of all the requests that wait or are being worked on; one more gets `queue_full`."""
SERVICE_POISON_MAX = 1_000
"""Requests set aside because they ended worker after worker; the oldest gives way."""
SERVICE_POISON_BYTES_MAX = 16 * MIB
"""Their bodies together."""
SERVICE_RECENT_MAX = 1_000
"""Finished requests that a broker remembers for who looks."""
SERVICE_DURABLE_MAX = 100_000
"""Durable requests without a result at once."""
SERVICE_RESULTS_MAX = 1_000_000
"""Results kept until they are collected or too old."""
SERVICE_COLLECTORS_MAX = 10_000
"""Clients that wait for results at once."""
CURVE_KEYS_MAX = 100_000
"""CURVE keys of clients and workers."""

GROUP_NUMBER_MAX = 2**62
"""The highest number of a member of a group, and of a message of one."""
GROUP_MEMBERS_MAX = 4_096
"""Members of one group at once."""
GROUP_AFTER_MAX = GROUP_MEMBERS_MAX
"""Messages that one message of a group names as those that it depends on."""
GROUP_HELD_MAX = 10_000
"""Messages that a member holds back because what they depend on has not come."""
GROUP_HELD_OF_MEMBER_MAX = 1_000
"""Of these, messages of one sender; and how far ahead of what is missing one may be to be held at all."""
GROUP_HISTORY_MAX = 10_000
"""Deliveries of which a member remembers what they depended on."""
GROUPS_MAX = 10_000
"""Groups of one hub."""
PARTICIPANTS_MAX = 100_000
"""Participants of the groups of one hub."""
GROUPS_OF_PARTICIPANT_MAX = 200
"""Groups of which one participant is a member."""
NICK_CHARACTERS_MAX = 32
"""Length of a participant's name."""
GROUP_SEEN_BEHIND_MAX = 2_000
"""How many messages behind the newest one a member may answer whose dependencies the hub works out."""
GROUP_REPORT_ROWS_MAX = 1_000
"""Deliveries in one report of a member."""

ADMINISTRATORS_MAX = 1_000
"""People who enter the administration pages with a password."""
PASSWORD_CHARACTERS_MIN = 10
"""Length of a password, at least."""
PASSWORD_CHARACTERS_MAX = 200
"""Length of a password, at most."""
PASSWORDS_AT_ONCE_MAX = 2
"""Passwords that are hashed or compared at once, which takes 64 MiB each; others wait for their turn."""
ADMIN_SESSIONS_MAX = 10_000
"""Sessions of the administration pages."""
ADMIN_SESSIONS_OF_PERSON_MAX = 20
"""Sessions of one person; one more ends the oldest."""
ENTRY_WINDOW_MS = 10 * 60 * 1_000
"""For how long a failed attempt to enter the administration pages counts."""
ENTRY_NAME_FAILURES_MAX = 10
"""Failed attempts to enter by one name in that time; one more gets `rate_limited`."""
ENTRY_ADDRESS_FAILURES_MAX = 30
"""Failed attempts to enter from one address in that time; one more gets `rate_limited`."""
ENTRY_AUDITED_FAILURES_MAX = 1_000
"""Failed attempts that are written into the audit in that time; the others are only refused."""
ENTRY_REMEMBERED_MAX = 10_000
"""Names and addresses of which failed attempts are counted."""
AUDIT_DETAIL_BYTES_MAX = 16 * KIB
"""What an entry of the audit says of what was asked for; longer values are left out of it."""
ADMIN_PAGES_AT_ONCE_MAX = 64
"""Administration pages that are made, or wait to be made, at once."""
ADMIN_EXPORT_ROWS_MAX = 1_000_000
"""Traces in one file that is made of a search in the administration pages: the newest ones."""
ADMIN_EXPORTS_AT_ONCE_MAX = 4
"""Such files that are made at once; one more gets `hub_busy`."""
ADMIN_BODY_SHOWN_CHARACTERS_MAX = 64 * KIB
"""What an administration page shows of the body of a message; the whole of it can be downloaded."""
ADMIN_ENTRY_BYTES_MAX = 16 * KIB
"""A form that is sent to the administration pages before one has entered: anybody may send it."""
ADMIN_FORM_BYTES_MAX = 256 * KIB
"""Another form: a thousand boxes that are checked. One with a schema or a message may have `REQUEST_BYTES_MAX`."""
