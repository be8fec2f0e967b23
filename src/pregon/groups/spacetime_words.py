"""The words of the space-time diagram, in English and Spanish; instants and spans of time for people."""

from __future__ import annotations

from pregon.clock import format_us
from pregon.errors import BadRequest
from pregon.model import group as g

LANGUAGES = ("en", "es")

_WORDS: dict[str, tuple[str, str]] = {
    "title": ("Group {group}", "Grupo {group}"),
    "range": ("messages {first} to {last}", "mensajes {first} a {last}"),
    "count": ("{count} messages of {hubs} hubs", "{count} mensajes de {hubs} hubs"),
    "empty": ("nothing has been said yet", "todavía no se dijo nada"),
    "lines": (
        "Each line is a member, and time goes to the right. An arrow is a message, from when it was sent to when a "
        "member had it.",
        "Cada línea es un integrante y el tiempo va hacia la derecha. Una flecha es un mensaje, desde que se envió "
        "hasta que un integrante lo tuvo.",
    ),
    "lines_logical": (
        "Each line is a member. Only the order counts: what is further right may have been caused by what is on its "
        "left, and distances mean nothing.",
        "Cada línea es un integrante. Solo cuenta el orden: lo que está más a la derecha pudo ser causado por lo que "
        "está a su izquierda, y las distancias no significan nada.",
    ),
    "part": (
        "This is not all of it: the drawing has {shown} of {count} messages. Choose a shorter part.",
        "Esto no es todo: el dibujo tiene {shown} de {count} mensajes. Elija un tramo más corto.",
    ),
    "cut": (
        "This is not all that was asked for: choose a shorter part.",
        "Esto no es todo lo que se pidió: elija un tramo más corto.",
    ),
    "elsewhere": (
        "The group lives in {hubs} hubs: this has the messages of {here} of them.",
        "El grupo vive en {hubs} hubs: aquí están los mensajes de {here} de ellos.",
    ),
    "silent": (
        "No member has said what it was shown: there are no arrows.",
        "Ningún integrante dijo qué se le mostró: no hay flechas.",
    ),
    "clock_behind": (
        "The clock of {name} is {span} behind that of the hub, or more: what it says is drawn so much later.",
        "El reloj de {name} atrasa {span} o más respecto del reloj del hub: lo que dice se dibuja ese tiempo después.",
    ),
    "clock_ahead": (
        "The clock of {name} is {span} ahead of that of the hub, or more: what it says is drawn so much earlier.",
        "El reloj de {name} adelanta {span} o más respecto del reloj del hub: lo que dice se dibuja ese tiempo antes.",
    ),
    "sent": ("sent", "enviado"),
    "sent_at": ("sent at {at}", "enviado a las {at}"),
    "accepted_at": ("in the hub at {at}", "en el hub a las {at}"),
    "after": ("depends on {stamps}", "depende de {stamps}"),
    "answers": ("answers {stamp}", "responde a {stamp}"),
    "shown": ("{name} had it at {at}, {span} after it was sent", "{name} lo tuvo a las {at}, {span} después del envío"),
    "held": (
        "{name} got it at {came} and was shown it at {at}, {span} later: it waited for {stamp}",
        "{name} lo recibió a las {came} y se le mostró a las {at}, {span} después: esperó a {stamp}",
    ),
    "silence": ("{span} of silence", "{span} de silencio"),
    "legend_sent": ("sent", "enviado"),
    "legend_shown": ("shown", "mostrado"),
    "legend_held": ("came early, held back until its cause was shown", "llegó antes que su causa y esperó por ella"),
    "legend_came": ("joined", "entró"),
    "legend_gone": ("left, or gone", "salió o se perdió"),
    "legend_hub": ("said by the hub", "dicho por el hub"),
    "legend_break": ("silence left out", "silencio omitido"),
    "hint": (
        "Point at a message, or go to it with the Tab key, to see what caused it; click to keep it.",
        "Señale un mensaje, o llegue a él con la tecla Tab, para ver qué lo causó; un clic lo deja fijo.",
    ),
    "waited": ("What waited, and why", "Qué esperó, y por qué"),
    "nothing_waited": ("Nothing had to wait.", "Nada tuvo que esperar."),
    "table": ("The same as a table", "Lo mismo como tabla"),
    "column_seq": ("number", "número"),
    "column_at": ("sent", "enviado"),
    "column_who": ("who", "quién"),
    "column_stamp": ("message", "mensaje"),
    "column_text": ("says", "dice"),
    "column_after": ("depends on", "depende de"),
    "column_shown": ("shown to, and how long after it was sent", "mostrado a, y cuánto después del envío"),
    "and_more": ("and {count} more", "y {count} más"),
    "waited_for": ("waited for {stamp}", "esperó a {stamp}"),
    "legend": ("Legend", "Leyenda"),
    f"kind_{g.MESSAGE}": ("message", "mensaje"),
    f"kind_{g.JOINED}": ("{name} joined", "{name} entró"),
    f"kind_{g.LEFT}": ("{name} left", "{name} salió"),
    f"kind_{g.JOINING}": ("{text} is joining", "{text} está entrando"),
    f"kind_{g.LEAVING}": ("{text} is leaving", "{text} está saliendo"),
    f"kind_{g.GONE}": ("{text} is gone", "{text} ya no está"),
    f"kind_{g.RENAMED}": ("new name: {text}", "cambio de nombre: {text}"),
    "why_unknown": (
        "it is not known when {name} was shown {stamp}: it has not been, or it does not say so",
        "no se sabe cuándo se le mostró {stamp} a {name}: aún no se le mostró, o no lo dice",
    ),
    "why_own": ("{name} sent {stamp}, at {at}", "{name} envió {stamp}, a las {at}"),
    "why_at_once": (
        "{name} was shown {stamp} of {sender} at {at}, as soon as it came: all that it depends on had been shown",
        "a {name} se le mostró {stamp} de {sender} a las {at}, apenas llegó: ya se le había mostrado todo aquello de "
        "lo que depende",
    ),
    "why_held": (
        "{name} got {stamp} of {sender} at {came} and was shown it {span} later: {reason}",
        "{name} recibió {stamp} de {sender} a las {came} y se le mostró {span} después: {reason}",
    ),
    "because_depends": ("it depends on {cause}", "depende de {cause}"),
    "because_answers": ("it answers {cause}", "responde a {cause}"),
    "because_next": ("it comes after {cause}, of the same sender", "va después de {cause}, de quien lo envió"),
    "of": ("{stamp} of {sender}", "{stamp} de {sender}"),
    "which_came": ("which came at {at}", "que llegó a las {at}"),
    "which_waited": (
        "which came at {came} and had to wait itself, until {at}, because {reason}",
        "que llegó a las {came} y también tuvo que esperar, hasta las {at}, porque {reason}",
    ),
    "which_own": ("which {name} sent", "que {name} envió"),
    "which_unknown": (
        "of whose arrival nothing is known here: it is older than this part, or of another hub",
        "de cuya llegada nada se sabe aquí: es anterior a este tramo, o de otro hub",
    ),
}


def check_language(lang: str) -> str:
    """The language, if it is one of ours; raises BadRequest."""
    if lang not in LANGUAGES:
        raise BadRequest(f"the language is {' or '.join(LANGUAGES)}, not {lang[:20]!r}")
    return lang


def say(lang: str, word: str, **values: object) -> str:
    """A text in a language, with its values."""
    return _WORDS[word][LANGUAGES.index(lang)].format(**values)


def say_what(lang: str, kind: str, name: str, text: str) -> str:
    """What a message says: its text, or what became of a member."""
    if kind == g.MESSAGE or f"kind_{kind}" not in _WORDS:
        return text
    return say(lang, f"kind_{kind}", name=name, text=text)


def write_time(at_us: int) -> str:
    """The time of the day, in UTC, to the millisecond."""
    return format_us(at_us)[11:23]


def write_date(at_us: int) -> str:
    """The day."""
    return format_us(at_us)[:10]


def write_span(span_us: int) -> str:
    """How long, as people say it."""
    if span_us < 10_000:
        return f"{span_us / 1_000:.1f} ms"
    if span_us < 1_000_000:
        return f"{span_us / 1_000:.0f} ms"
    seconds = span_us / 1_000_000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")]
    first = next(place for place, (count, _) in enumerate(parts) if count)
    return " ".join(f"{count} {unit}" for count, unit in parts[first : first + 2] if count)
