"""What a notice says to people, in their language, and to programs, as an event.

Promises: a subject is one line; nothing that came from a subscriber is in it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pregon.clock import format_us
from pregon.delivery.alarms import BACKLOG, DISABLED, FAILING, PARKED, RECOVERED, Notice

EVENT_TYPE_PREFIX = "pregon.notice."
LANGUAGES = ("en", "es")

_TEXTS = {
    # kind: {language: (subject, text)}
    FAILING: {
        "en": (
            "{where} fails",
            "Messages of {topic} cannot be delivered to {subscriber} since {since}: {reason}. They wait, in order, and "
            "are tried again by themselves; {subscriber} can also pull them.",
        ),
        "es": (
            "{where} falla",
            "Los mensajes de {topic} no se pueden entregar a {subscriber} desde {since}: {reason}. Esperan, en orden, "
            "y se vuelven a intentar solos; {subscriber} también puede venir a buscarlos.",
        ),
    },
    RECOVERED: {
        "en": (
            "{where} works again",
            "Messages of {topic} are delivered to {subscriber} again, at {at}. It had failed since {since}.",
        ),
        "es": (
            "{where} funciona de nuevo",
            "Los mensajes de {topic} se entregan de nuevo a {subscriber}, desde {at}. Fallaba desde {since}.",
        ),
    },
    DISABLED: {
        "en": (
            "{subscriber} is disabled",
            "{subscriber} answered that it is gone, at {at}: {reason}. Nothing is pushed to it any more; its messages "
            "wait to be pulled. When it is back, enable it again.",
        ),
        "es": (
            "{subscriber} quedó deshabilitado",
            "{subscriber} respondió que ya no existe, a las {at}: {reason}. No se le envía nada más; sus mensajes "
            "esperan a que los busque. Cuando vuelva, habilítelo de nuevo.",
        ),
    },
    BACKLOG: {
        "en": (
            "{where} has {pending} messages waiting",
            "{pending} messages of {topic} wait for {subscriber}, the oldest since {oldest}.",
        ),
        "es": (
            "{where} tiene {pending} mensajes en espera",
            "{pending} mensajes de {topic} esperan a {subscriber}, el más viejo desde {oldest}.",
        ),
    },
    PARKED: {
        "en": (
            "{where}: message {seq} was set aside",
            "{subscriber} refused message {seq} of {topic} too often, so it was set aside at {at} and the ones after "
            "it go on: {reason}. To deliver it again: pregon subscription unpark {topic} {subscriber} {seq}",
        ),
        "es": (
            "{where}: el mensaje {seq} quedó aparte",
            "{subscriber} rechazó demasiadas veces el mensaje {seq} de {topic}; quedó aparte, a las {at}, y los "
            "siguientes continúan: {reason}. Para entregarlo de nuevo: pregon subscription unpark {topic} {subscriber} "
            "{seq}",
        ),
    },
}  # fmt: skip
_MORE = {"en": "And {more} more about it in the hour before.", "es": "Y {more} más sobre lo mismo en la hora anterior."}
_UNKNOWN = {"en": "no reason is known yet", "es": "aún no se sabe por qué"}


def subject_of(notice: Notice, language: str) -> str:
    """The notice in a few words."""
    return _TEXTS[notice.kind][language][0].format(**_values(notice, language))


def text_of(notice: Notice, language: str) -> str:
    """The notice in sentences, in one line."""
    values = _values(notice, language)
    text = _TEXTS[notice.kind][language][1].format(**values)
    return f"{text} {_MORE[language].format(**values)}" if notice.more else text


def _values(notice: Notice, language: str) -> dict[str, Any]:
    # Reasons quote what a subscriber answered, who may answer anything.
    reason = "".join(one if one.isprintable() else " " for one in notice.reason).strip().rstrip(".")
    return {
        "where": f"{notice.topic}/{notice.subscriber}" if notice.topic else notice.subscriber,
        "topic": notice.topic,
        "subscriber": notice.subscriber,
        "reason": reason or _UNKNOWN[language],
        "at": _instant(notice.at_us),
        "since": _instant(notice.since_us),
        "oldest": _instant(notice.oldest_pending_us),
        "pending": notice.pending,
        "seq": notice.seq,
        "more": notice.more,
    }


def _instant(us: int) -> str:
    return format_us(us)[:19] + "Z"


def fields_of(notice: Notice) -> dict[str, Any]:
    """The notice as fields for programs: only those that its kind has."""
    fields: dict[str, Any] = {"kind": notice.kind, "topic": notice.topic, "subscriber": notice.subscriber}
    fields["reason"] = notice.reason
    fields["since"] = format_us(notice.since_us) if notice.since_us else ""
    fields["pending"] = notice.pending
    fields["oldest_pending"] = format_us(notice.oldest_pending_us) if notice.oldest_pending_us else ""
    fields["seq"] = notice.seq
    fields["more"] = notice.more
    return {name: value for name, value in fields.items() if value or name == "kind"}


def encode_event(notice: Notice, notice_id: str, source: str, language: str) -> bytes:
    """The notice as a CloudEvent in structured mode."""
    return msgspec.json.encode(
        {
            "specversion": "1.0",
            "id": notice_id,
            "source": source,
            "type": EVENT_TYPE_PREFIX + notice.kind,
            "subject": f"{notice.topic}/{notice.subscriber}" if notice.topic else notice.subscriber,
            "time": format_us(notice.at_us),
            "datacontenttype": "application/json",
            "data": {**fields_of(notice), "text": text_of(notice, language)},
        }
    )
