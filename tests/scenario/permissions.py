"""Who may do what: every command of PREGON/1, with every kind of the service broker's and of groups; every route of
HTTP and every operation of SOAP, each with who may.

Only tables: `test_authorisation` asks every door for all of it, in the name of everybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from pregon.wire.commands import Command

from .soap_clients.plain import publication, request

WRONG = ("malformed", "unknown id", "wrong secret", "revoked", "expired", "deleted owner", "two keys", "no token")
READERS, OPERATORS, ADMINS = {"read", "operate", "admin"}, {"operate", "admin"}, {"admin"}
PUBLISHER, RECEIVER = {"registry"}, {"bank"}
KNOWN = {"registry", "hospital", "bank", "archive", *READERS}
ANYBODY = {"nobody", *KNOWN}
EVERYBODY = {*ANYBODY, *WRONG}


class Names(NamedTuple):
    """Whom and what a request names."""

    topic: str = "births"
    producer: str = "registry"
    subscriber: str = "bank"
    token: str = "read"
    group: str = "plaza"


NOBODYS = Names("no-such-topic", "no-such-producer", "no-such-subscriber", "no-such-token", "no-such-group")
PARTICIPANT, LEAVER = "{participant}", "{leaver}"
"""The token of a participant that is a member of the group; the token of another one for each request."""


@dataclass(frozen=True)
class Asked:
    """A request: what it says besides the names in it, who may, and whether it would spoil the hub for the others."""

    may: set[str]
    says: Any = None
    spoils: bool = False
    asks_for_key: bool = False
    """Whether a hub that requires keys serves nobody without one, whoever may elsewhere."""


SUBSCRIPTION = {"topic": "{topic}", "subscriber": "{subscriber}"}
PUBLICATION = {"topic": "{topic}", "producer": "{producer}", "id": "x"}
_OF_GROUP = {"group": "{group}", "token": PARTICIPANT}
COMMANDS: dict[Command, Asked] = {
    Command.PING: Asked(ANYBODY, {}),
    Command.PUBLISH: Asked(PUBLISHER, PUBLICATION),
    Command.PUBLISH_BATCH: Asked(PUBLISHER, {"topic": "{topic}", "producer": "{producer}"}),
    Command.PULL: Asked(RECEIVER, SUBSCRIPTION),
    Command.ACK: Asked(RECEIVER, {**SUBSCRIPTION, "seq": 0}),
    Command.READ: Asked({"bank", "archive"} | READERS, {"topic": "{topic}"}),
    Command.PARK: Asked(RECEIVER | OPERATORS, {**SUBSCRIPTION, "seqs": [1]}),
    Command.UNPARK: Asked(RECEIVER | OPERATORS, SUBSCRIPTION),
    Command.CANCEL: Asked(RECEIVER | OPERATORS, {**SUBSCRIPTION, "seqs": [1]}),
    Command.PARKED: Asked(RECEIVER | READERS, SUBSCRIPTION),
    Command.REPLAY: Asked(RECEIVER | OPERATORS, {**SUBSCRIPTION, "from_seq": 1}),
    Command.ACCOUNT: Asked(RECEIVER | READERS, SUBSCRIPTION),
    Command.TRACES: Asked(RECEIVER | READERS, {"query": {"subscriber": "{subscriber}"}}),
    Command.AUDIT: Asked(READERS, {"query": {"object": "{topic}"}}),
    Command.STORY: Asked({"bank", "archive"} | READERS, {"topic": "{topic}", "seq": 1}),
    Command.CREATE: Asked(ADMINS, {"kind": "topic", "entry": {"name": "{topic}"}}, spoils=True),
    Command.UPDATE: Asked(ADMINS, {"kind": "topic", "names": ["{topic}"], "values": {}}),
    Command.DELETE: Asked(ADMINS, {"kind": "subscriber", "names": ["{subscriber}"]}, spoils=True),
    Command.SHOW: Asked(RECEIVER | READERS, {"kind": "subscription", "names": ["{topic}", "{subscriber}"]}),
    Command.LIST: Asked(READERS, {"kind": "topic", "names": ["{topic}"]}),
    Command.STATUS: Asked(READERS, {}),
    Command.GROUP_JOIN: Asked(ANYBODY, _OF_GROUP, asks_for_key=True),
    Command.GROUP_LEAVE: Asked(ANYBODY, _OF_GROUP, spoils=True, asks_for_key=True),
    Command.GROUP_SEND: Asked(ANYBODY, _OF_GROUP, asks_for_key=True),
    Command.GROUP_READ: Asked(ANYBODY, _OF_GROUP, asks_for_key=True),
    Command.GROUP_REPORT: Asked(ANYBODY, {**_OF_GROUP, "rows": []}, asks_for_key=True),
    Command.GROUP_MINE: Asked(ANYBODY, {"token": PARTICIPANT}, asks_for_key=True),
    Command.GROUP_PRIVATE: Asked(ANYBODY, {"token": PARTICIPANT, "with": "luis"}, asks_for_key=True),
}
_CURVE_KEY = {"name": "tarifas", "public": "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"}
KINDS: dict[tuple[Command, str], Asked] = {
    (Command.SHOW, "broker"): Asked(ANYBODY, {"names": []}, asks_for_key=True),
    (Command.LIST, "service"): Asked(READERS, {}),
    (Command.UPDATE, "service"): Asked(ADMINS, {"names": ["sqrt"], "values": {}}),
    (Command.DELETE, "service"): Asked(ADMINS, {"names": ["sqrt"]}),
    (Command.LIST, "worker"): Asked(READERS, {}),
    (Command.LIST, "request"): Asked(READERS, {}),
    (Command.LIST, "recent"): Asked(READERS, {}),
    (Command.LIST, "durable"): Asked(READERS, {"names": ["sqrt"]}),
    (Command.SHOW, "durable"): Asked(ANYBODY, {"names": ["no-such-request"]}, asks_for_key=True),
    (Command.LIST, "poison"): Asked(READERS, {}),
    (Command.CREATE, "poison"): Asked(OPERATORS, {"entry": {"number": 1}}),
    (Command.DELETE, "poison"): Asked(OPERATORS, {"names": ["1"]}),
    (Command.CREATE, "curve-key"): Asked(ADMINS, {"entry": _CURVE_KEY}),
    (Command.LIST, "curve-key"): Asked(ADMINS, {}),
    (Command.DELETE, "curve-key"): Asked(ADMINS, {"names": ["tarifas"]}),
    (Command.CREATE, "group"): Asked(
        ANYBODY, {"entry": {"name": "{group}", "token": PARTICIPANT}}, spoils=True, asks_for_key=True
    ),
    (Command.SHOW, "group"): Asked(ANYBODY, {"names": ["{group}", PARTICIPANT]}, asks_for_key=True),
    (Command.LIST, "group"): Asked(ANYBODY, {"names": [PARTICIPANT]}, asks_for_key=True),
    (Command.UPDATE, "group"): Asked(ADMINS, {"names": ["{group}"], "values": {}}),
    (Command.DELETE, "group"): Asked(ADMINS, {"names": ["{group}"]}, spoils=True),
    (Command.CREATE, "participant"): Asked(ANYBODY, {"entry": {"name": "luis"}}, asks_for_key=True),
    (Command.LIST, "participant"): Asked(READERS, {}),
    (Command.UPDATE, "participant"): Asked(
        ANYBODY, {"names": [PARTICIPANT], "values": {"name": "ana"}}, asks_for_key=True
    ),
    (Command.DELETE, "participant"): Asked(ANYBODY, {"names": [LEAVER]}, asks_for_key=True),
    (Command.LIST, "member"): Asked(ANYBODY, {"names": ["{group}", PARTICIPANT]}, asks_for_key=True),
    (Command.DELETE, "member"): Asked(OPERATORS, {"names": ["{group}", "99"]}),
    (Command.SHOW, "group-trace"): Asked(ANYBODY, {"names": ["{group}", "", "", PARTICIPANT]}, asks_for_key=True),
    (Command.SHOW, "relation"): Asked(ANYBODY, {"names": ["{group}", "1:1", "2:1", PARTICIPANT]}, asks_for_key=True),
}
"""What is asked of the service broker and of groups with the commands of the catalogue; what is not here cannot be."""
OF_KINDS = (Command.CREATE, Command.UPDATE, Command.DELETE, Command.SHOW, Command.LIST)
"""Commands that name a kind."""
_SETTLE = "/v1/topics/{topic}/subscriptions/{subscriber}"
_ONE = {"messages": [{"text": "x"}]}
_READ = ("messages", "messages/{seq}", "messages/{seq}/body", "messages/{seq}/story", "batches", "stream")
_OWNERS = ("producer", "subscriber")
_OWN: dict[str, set[str]] = {"topic": set(), "producer": PUBLISHER, "subscriber": RECEIVER}
ROUTES: dict[str, Asked] = {
    "POST /v1/topics/{topic}/messages": Asked(PUBLISHER, "x"),
    "POST /v1/topics/{topic}/batches": Asked(PUBLISHER, _ONE),
    f"POST {_SETTLE}/pull": Asked(RECEIVER, {}),
    f"POST {_SETTLE}/ack": Asked(RECEIVER, {"seq": 0}),
    **{f"GET /v1/topics/{{topic}}/{path}": Asked({"bank", "archive"} | READERS) for path in _READ},
    f"POST {_SETTLE}/park": Asked(RECEIVER | OPERATORS, {"seqs": [1]}),
    f"POST {_SETTLE}/unpark": Asked(RECEIVER | OPERATORS, {}),
    f"POST {_SETTLE}/cancel": Asked(RECEIVER | OPERATORS, {"seqs": [1]}),
    f"POST {_SETTLE}/replay": Asked(RECEIVER | OPERATORS, {"from_seq": 1}),
    f"GET {_SETTLE}/parked": Asked(RECEIVER | READERS),
    f"GET {_SETTLE}/account": Asked(RECEIVER | READERS),
    **{f"GET /v1/{path}/batches": Asked(READERS) for path in ("traces", "subscriptions")},
    "GET /v1/topics/{topic}/seq": Asked({"bank", "archive"} | READERS, {"time": "2026-11-15T10:00:00Z"}),
    "GET /v1/topics/{topic}/sessions/{session}": Asked(PUBLISHER | READERS),
    "GET /v1/traces": Asked(RECEIVER | READERS, {"subscriber": "{subscriber}"}),
    "GET /v1/audit": Asked(READERS),
    "GET /v1/traces/id": Asked(READERS, {"time": "2026-11-15T10:00:00Z"}),
    "GET /v1/traces/marks": Asked(READERS),
    "PUT /v1/traces/marks/{name}": Asked(OPERATORS, {"id": 0}),
    "DELETE /v1/traces/marks/{name}": Asked(OPERATORS),
    **{f"POST /v1/{kind}s": Asked(ADMINS, {"name": f"{{{kind}}}"}, spoils=True) for kind in _OWN},
    **{f"GET /v1/{kind}s": Asked(READERS) for kind in _OWN},
    **{f"GET /v1/{kind}s/{{{kind}}}": Asked(own | READERS) for kind, own in _OWN.items()},
    **{f"PATCH /v1/{kind}s/{{{kind}}}": Asked(ADMINS, {}) for kind in _OWN},
    **{f"DELETE /v1/{kind}s/{{{kind}}}": Asked(ADMINS, spoils=True) for kind in _OWN},
    "POST /v1/topics/{topic}/subscriptions": Asked(ADMINS, {"subscriber": "{subscriber}"}, spoils=True),
    "GET /v1/topics/{topic}/subscriptions": Asked(READERS),
    f"GET {_SETTLE}": Asked(RECEIVER | READERS),
    f"PATCH {_SETTLE}": Asked(ADMINS, {}),
    f"DELETE {_SETTLE}": Asked(ADMINS, spoils=True),
    "GET /v1/subscriptions": Asked(RECEIVER | READERS, {"subscriber": "{subscriber}"}),
    "GET /v1/producers/{producer}/grants": Asked(PUBLISHER | READERS),
    "PUT /v1/producers/{producer}/grants/{topic}": Asked(ADMINS, spoils=True),
    "DELETE /v1/producers/{producer}/grants/{topic}": Asked(ADMINS, spoils=True),
    **{f"POST /v1/{kind}s/{{{kind}}}/keys": Asked(ADMINS, {}, spoils=True) for kind in _OWNERS},
    **{f"GET /v1/{kind}s/{{{kind}}}/keys": Asked(ADMINS) for kind in _OWNERS},
    **{f"DELETE /v1/{kind}s/{{{kind}}}/keys/{{key}}": Asked(ADMINS, spoils=True) for kind in _OWNERS},
    "POST /v1/subscribers/{subscriber}/secrets": Asked(ADMINS, {}, spoils=True),
    "GET /v1/subscribers/{subscriber}/secrets": Asked(ADMINS),
    "DELETE /v1/subscribers/{subscriber}/secrets/{secret}": Asked(ADMINS, spoils=True),
    "POST /v1/subscribers/{subscriber}/test": Asked(OPERATORS, {}),
    f"GET {_SETTLE}/push": Asked(RECEIVER | READERS),
    "POST /v1/tokens": Asked(ADMINS, {"name": "{token}", "scopes": ["read"]}, spoils=True),
    "GET /v1/tokens": Asked(ADMINS),
    "DELETE /v1/tokens/{token}/keys/{key}": Asked(ADMINS, spoils=True),
    "GET /v1/topics/{topic}/schema": Asked(READERS),
    "PUT /v1/topics/{topic}/schema": Asked(ADMINS, {"kind": "xml"}, spoils=True),
    "DELETE /v1/topics/{topic}/schema": Asked(ADMINS, spoils=True),
    "GET /v1/topics/{topic}/schema/versions": Asked(READERS),
    "POST /v1/topics/{topic}/schema/compare": Asked(READERS, {"kind": "xml"}),
    "POST /v1/services/{type}/requests": Asked(ANYBODY, "100", asks_for_key=True),
    "GET /v1/services/{type}/requests/{id}": Asked(ANYBODY, asks_for_key=True),
    "GET /v1/broker": Asked(ANYBODY, asks_for_key=True),
    "GET /v1/services/{type}/requests": Asked(READERS),
    **{f"GET /v1/{path}": Asked(READERS) for path in ("services", "workers", "requests", "requests/recent", "poison")},
    "DELETE /v1/services/{type}/requests/{id}": Asked(OPERATORS),
    "POST /v1/services/{type}/requests/{id}/release": Asked(OPERATORS),
    "POST /v1/poison/{number}/release": Asked(OPERATORS),
    "DELETE /v1/poison/{number}": Asked(OPERATORS),
    "PATCH /v1/services/{type}": Asked(ADMINS, {}),
    "DELETE /v1/services/{type}": Asked(ADMINS),
    "POST /v1/curve-keys": Asked(ADMINS, _CURVE_KEY),
    "GET /v1/curve-keys": Asked(ADMINS),
    "DELETE /v1/curve-keys/{name}": Asked(ADMINS),
    "POST /v1/participants": Asked(ANYBODY, {"name": "luis"}, asks_for_key=True),
    "GET /v1/participants": Asked(READERS),
    "PATCH /v1/participants/me": Asked(ANYBODY, {"name": "ana"}, asks_for_key=True),
    "DELETE /v1/participants/me": Asked(ANYBODY, spoils=True, asks_for_key=True),
    "GET /v1/participants/me/groups": Asked(ANYBODY, asks_for_key=True),
    "POST /v1/groups": Asked(ANYBODY, {"name": "{group}"}, asks_for_key=True),
    "GET /v1/groups": Asked(ANYBODY, asks_for_key=True),
    "GET /v1/groups/socket": Asked(ANYBODY),
    "GET /v1/groups/{group}": Asked(ANYBODY, asks_for_key=True),
    "PATCH /v1/groups/{group}": Asked(ADMINS, {}),
    "DELETE /v1/groups/{group}": Asked(ADMINS, spoils=True),
    "GET /v1/groups/{group}/members": Asked(ANYBODY, asks_for_key=True),
    "POST /v1/groups/{group}/members": Asked(ANYBODY, {}, asks_for_key=True),
    "DELETE /v1/groups/{group}/members/me": Asked(ANYBODY, spoils=True, asks_for_key=True),
    "DELETE /v1/groups/{group}/members/{member}": Asked(OPERATORS),
    "POST /v1/groups/{group}/messages": Asked(ANYBODY, "x", asks_for_key=True),
    "GET /v1/groups/{group}/messages": Asked(ANYBODY, asks_for_key=True),
    "GET /v1/groups/{group}/messages/{stamp}/relation": Asked(ANYBODY, {"to": "1:1"}, asks_for_key=True),
    "GET /v1/groups/{group}/trace": Asked(ANYBODY, asks_for_key=True),
    "GET /groups/{group}/diagram": Asked(ANYBODY, asks_for_key=True),
    "GET /groups/{group}/diagram.svg": Asked(ANYBODY, asks_for_key=True),
    "POST /v1/private": Asked(ANYBODY, {"with": "luis"}, asks_for_key=True),
    "GET /metrics": Asked(READERS),
    "GET /v1/status": Asked(READERS),
    **{f"GET /{path}": Asked(EVERYBODY) for path in ("healthz", "readyz", "v1/openapi.json", "docs", "docs/{file}")},
    **{f"GET /{path}": Asked(EVERYBODY) for path in ("chat", "chat/{file}")},
    "POST /v1/frames": Asked(EVERYBODY, "x"),
}
"""Frames say who asks themselves: their door is in the table of commands."""
_KIND = {kind.capitalize(): f"<name>{{{kind}}}</name>" for kind in _OWN}
_KIND |= {"Subscription": "<topic>{topic}</topic><subscriber>{subscriber}</subscriber>"}
_GRANT = "<producer>{producer}</producer><topic>{topic}</topic>"
_KEY = "<keyId>000000000000</keyId>"
OPERATIONS: dict[str, Asked] = {
    "novedades": Asked(PUBLISHER, lambda names, key: publication("<x/>", names.topic, names.producer, key)),
    "recepcion": Asked(RECEIVER, lambda names, key: request(names.topic, names.subscriber, header=key)),
    "SearchTraces": Asked(RECEIVER | READERS, "<subscriber>{subscriber}</subscriber>"),
    "GetStory": Asked({"bank", "archive"} | READERS, "<topic>{topic}</topic><notificationId>1</notificationId>"),
    **{f"Create{kind}": Asked(ADMINS, names, spoils=True) for kind, names in _KIND.items()},
    **{f"Get{kind}": Asked(_OWN.get(kind.lower(), RECEIVER) | READERS, names) for kind, names in _KIND.items()},
    **{f"Update{kind}": Asked(ADMINS, names) for kind, names in _KIND.items()},
    **{f"Delete{kind}": Asked(ADMINS, names, spoils=True) for kind, names in _KIND.items()},
    **{f"List{kind}s": Asked(READERS, "") for kind in ("Topic", "Producer", "Subscriber")},
    "ListSubscriptions": Asked(RECEIVER | READERS, "<subscriber>{subscriber}</subscriber>"),
    "GrantTopic": Asked(ADMINS, _GRANT, spoils=True),
    "RevokeTopic": Asked(ADMINS, _GRANT, spoils=True),
    **{f"Create{kind}Key": Asked(ADMINS, _KIND[kind], spoils=True) for kind in ("Producer", "Subscriber")},
    **{f"List{kind}Keys": Asked(ADMINS, _KIND[kind]) for kind in ("Producer", "Subscriber")},
    **{f"Revoke{kind}Key": Asked(ADMINS, _KIND[kind] + _KEY, spoils=True) for kind in ("Producer", "Subscriber")},
    "CreateSubscriberSecret": Asked(ADMINS, _KIND["Subscriber"], spoils=True),
    "ListSubscriberSecrets": Asked(ADMINS, _KIND["Subscriber"]),
    "RevokeSubscriberSecret": Asked(ADMINS, _KIND["Subscriber"] + "<secretId>0</secretId>", spoils=True),
    "GetPushState": Asked(RECEIVER | READERS, _KIND["Subscription"]),
}
