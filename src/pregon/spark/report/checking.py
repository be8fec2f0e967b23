"""The sections that prove something: that every subscription adds up, and that groups were shown causal order."""

from __future__ import annotations

from pregon.model.pipeline_figures import (
    CAUSALITY,
    PARTS_SUM,
    RECONCILIATION,
    CausalityFigures,
    Discrepancy,
    ReconciliationFigures,
)
from pregon.spark.report import tables as t
from pregon.spark.report.reasons import spoken_reason
from pregon.spark.report.section import BAD, GOOD, PLAIN, Section, paragraph
from pregon.spark.report.words import KINDS, PARTS, Both, number, share, word_of

_SUM_WORDS: Both = (
    "Accepted = acknowledged + pending + parked + filtered + expired + cancelled, counted anew from every event and "
    "compared with what the hub says.",
    "Aceptados = confirmados + pendientes + apartados + filtrados + vencidos + cancelados, contados de nuevo a partir "
    "de cada suceso y comparados con lo que dice el hub.",
)
_CONTROL_WORDS: Both = (
    "Control information is what a message carries so that its order can be kept: ours names only what a message "
    "immediately follows from, a vector clock names every member.",
    "La información de control es lo que lleva un mensaje para que se mantenga su orden: la nuestra nombra solo "
    "aquello de lo que el mensaje depende inmediatamente, un reloj vectorial nombra a cada integrante.",
)
_VIOLATIONS = (
    t.text("group", "group", "grupo"),
    t.text(lambda one: one.name or one.member, "member", "integrante"),
    t.text("message", "was shown", "se le mostró"),
    t.worded("kind", KINDS, "what is wrong", "qué está mal"),
    t.text("missing", "which is", "que es"),
    t.dated("delivered_at", "at (UTC)", "hora (UTC)"),
)
_GROUPS = (
    t.text("group", "group", "grupo"),
    t.counted("members", "members", "integrantes"),
    t.counted("messages", "messages", "mensajes"),
    t.counted("deliveries", "deliveries", "entregas"),
    t.counted("violations", "out of order", "fuera de orden"),
    t.counted("unreported", "causes not reported", "causas sin informar"),
    t.written(lambda one: share(one.held_back, one.deliveries), "held back", "retenidas"),
    t.sized("control_bytes", "control, mean", "control, media"),
    t.sized("vector_bytes", "vector clock, mean", "reloj vectorial, media"),
    t.bars(lambda one: (one.control_bytes, one.vector_bytes), "ours over the clock's", "lo nuestro sobre el reloj"),
)


def reconciliation(figures: ReconciliationFigures) -> Section:
    """Whether everything adds up; everything that does not, named."""
    wrong, unsure = figures.discrepancies_count, figures.unverifiable_count
    names = (t.text("topic", "topic", "tema"), t.text("subscriber", "subscriber", "suscriptor"))
    totals = (
        t.worded(lambda row: row[0], PARTS, "part", "parte"),
        t.counted(lambda row: row[1][0], "the events say", "dicen los sucesos"),
        t.counted(lambda row: row[1][1], "the hub says", "dice el hub"),
    )
    differs, why = t.spoken(_told, "what differs", "qué difiere"), t.spoken(_told, "why", "por qué")
    together: Both = ("All that can be checked, together", "Todas las que se pueden comprobar, juntas")
    body = [
        paragraph(_SUM_WORDS),
        t.table(("Discrepancies", "Diferencias"), (*names, differs), figures.discrepancies, count=wrong),
        t.table(("Not to be checked", "No se pueden comprobar"), (*names, why), figures.unverifiable, count=unsure),
        t.table(together, totals, list(figures.totals.items())),
    ]
    mood = BAD if wrong else PLAIN if unsure or not figures.subscriptions else GOOD
    return Section(RECONCILIATION, _verdict(figures), mood, "\n".join(body))


def _verdict(figures: ReconciliationFigures) -> Both:
    total, verified = number(figures.subscriptions), number(figures.verified)
    wrong, unsure = number(figures.discrepancies_count), number(figures.unverifiable_count)
    if figures.discrepancies_count:
        do, close = ("does", "cierra") if figures.discrepancies_count == 1 else ("do", "cierran")
        return f"{wrong} of {total} subscriptions {do} not add up", f"{wrong} de {total} suscripciones no {close}"
    if figures.unverifiable_count:
        return (
            f"{verified} of {total} subscriptions add up; {unsure} cannot be checked",
            f"{verified} de {total} suscripciones cierran; {unsure} no se pueden comprobar",
        )
    if not figures.subscriptions:
        return "There are no subscriptions", "No hay suscripciones"
    if figures.subscriptions == 1:
        return "The one subscription that there is adds up", "La única suscripción que hay cierra"
    return f"All {total} subscriptions add up", f"Las {total} suscripciones cierran"


def _told(one: Discrepancy) -> Both:
    """What differs: part by part in both languages, or as the step said it."""
    if not one.parts:
        return spoken_reason(one.reason)
    said = [_differing(part, *pair) for part, pair in one.parts.items()]
    return "; ".join(english for english, _ in said), "; ".join(spanish for _, spanish in said)


def _differing(part: str, events: int, hub: int) -> Both:
    if part == PARTS_SUM:
        return (
            f"the hub's parts add up to {number(events)}, not to the {number(hub)} that it accepted",
            f"las partes del hub suman {number(events)}, no los {number(hub)} que aceptó",
        )
    english, spanish = word_of(PARTS, part)
    return (
        f"{english}: the events say {number(events)}, the hub {number(hub)}",
        f"{spanish}: los sucesos dicen {number(events)}, el hub {number(hub)}",
    )


def causality(figures: CausalityFigures) -> Section:
    """Whether every member was shown everything in causal order, and what that cost."""
    wrong, checked = figures.violations_count, number(figures.deliveries)
    if wrong:
        answer = (
            f"{number(wrong)} of {checked} deliveries in groups came out of order",
            f"{number(wrong)} de {checked} entregas en grupos {'llegó' if wrong == 1 else 'llegaron'} fuera de orden",
        )
    elif figures.deliveries:
        answer = (
            f"All {checked} deliveries in groups came in causal order",
            f"Las {checked} entregas en grupos llegaron en orden causal",
        )
    else:
        answer = ("No member has said what it was shown", "Ningún integrante dijo qué se le mostró")
    body = [
        t.table(("Out of order", "Fuera de orden"), _VIOLATIONS, figures.violations, count=wrong),
        paragraph(_CONTROL_WORDS) if figures.groups else "",
        t.table(("Groups", "Grupos"), _GROUPS, figures.groups, count=figures.groups_count),
    ]
    return Section(CAUSALITY, answer, BAD if wrong else GOOD if figures.deliveries else PLAIN, "\n".join(body))
