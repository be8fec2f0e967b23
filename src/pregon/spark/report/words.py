"""What the report says, in English and Spanish at once: the reader chooses on the page, without a server.

A text is a pair; on the page both are there, and the style hides the one that is not wanted. Numbers are written so
that both languages read them the same: spaces between thousands, a point before decimals.

Promises:
- Everything that comes from a table is escaped here or in `tables`; nothing else puts text into the page.
"""

from __future__ import annotations

from html import escape

from pregon.errors import BadRequest

LANGUAGES = ("en", "es")
Both = tuple[str, str]
"""The same in English and in Spanish, as plain text."""

NONE = "–"
_NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"
_SECOND_MS, _MINUTE_MS, _HOUR_MS = 1_000, 60_000, 3_600_000
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")

CLASSES: dict[str, Both] = {
    "preferred": ("preferred", "preferida"),
    "acceptable": ("acceptable", "aceptable"),
    "unacceptable": ("unacceptable", "inaceptable"),
    "": ("nothing settled", "nada terminado"),
}
KINDS: dict[str, Both] = {
    "causal": ("before what it follows from", "antes de aquello de lo que depende"),
    "fifo": ("before an earlier one of its sender", "antes de uno anterior del mismo emisor"),
    "silence": ("silence", "silencio"),
    "surge": ("surge", "aumento"),
    "drop": ("drop", "caída"),
}
PARTS: dict[str, Both] = {
    "accepted": ("accepted", "aceptados"),
    "acknowledged": ("acknowledged", "confirmados"),
    "pending": ("pending", "pendientes"),
    "parked": ("parked", "apartados"),
    "filtered": ("filtered", "filtrados"),
    "expired": ("expired", "vencidos"),
    "cancelled": ("cancelled", "cancelados"),
    "expired_or_cancelled": ("expired or cancelled", "vencidos o cancelados"),
}
STEP_NAMES: dict[str, Both] = {
    "archive": ("The archive", "El archivo"),
    "deliveries": ("Deliveries", "Entregas"),
    "service-levels": ("Service levels", "Niveles de servicio"),
    "reconciliation": ("Reconciliation", "Conciliación"),
    "causality": ("Causal order", "Orden causal"),
    "traffic": ("Traffic", "Tráfico"),
}


def check_language(lang: str) -> str:
    """The language, if the report speaks it; raises BadRequest."""
    if lang not in LANGUAGES:
        raise BadRequest(f"the report is in {' or '.join(LANGUAGES)}, not in {lang[:20]!r}")
    return lang


def both(text: Both) -> str:
    """A text on the page, in both languages."""
    english, spanish = text
    if english == spanish:
        return escape(english)
    return f'<span lang="en">{escape(english)}</span><span lang="es">{escape(spanish)}</span>'


def word_of(words: dict[str, Both], name: str) -> Both:
    """What a table calls a thing, for people; a name that is not known stays as it is."""
    return words.get(name, (name, name))


def counted(count: int, one: Both, many: Both) -> Both:
    """So many of something, in both languages."""
    words = one if count == 1 else many
    return f"{number(count)} {words[0]}", f"{number(count)} {words[1]}"


def number(value: float | None) -> str:
    """A number, short, with its thousands apart."""
    if value is None:
        return NONE
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.1f}".replace(",", _NARROW_SPACE)
    return f"{int(value):,}".replace(",", _NARROW_SPACE)


def plain(text: str) -> str:
    """A text of the page for a terminal, which need not know how to show a narrow space."""
    return text.replace(_NARROW_SPACE, ",")


def span_ms(value: float | None) -> str:
    """A time of so many milliseconds, in the unit that makes it short."""
    if value is None:
        return NONE
    for unit, size in (("h", _HOUR_MS), ("min", _MINUTE_MS), ("s", _SECOND_MS)):
        if value >= size * (1 if unit == "s" else 2):
            return f"{number(round(value / size, 2))}{_NARROW_SPACE}{unit}"
    return f"{value:.3g}{_NARROW_SPACE}ms"


def size_bytes(value: float | None) -> str:
    """A size in the unit that makes it short."""
    if value is None:
        return NONE
    unit = 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value /= 1024
        unit += 1
    return f"{number(round(value, 1))}{_NARROW_SPACE}{_UNITS[unit]}"


def instant(text: str) -> str:
    """An instant to the second: `2026-11-16 20:01:02`, in UTC as all of them."""
    return text[:19].replace("T", " ") if text else NONE


def share(part: float, whole: float) -> str:
    """A part of a whole, in per cent."""
    return f"{100 * part / whole:.1f}{_NARROW_SPACE}%" if whole else NONE
