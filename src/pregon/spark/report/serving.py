"""The sections that say how people were served: service levels and deliveries."""

from __future__ import annotations

from pregon.model.pipeline_figures import DELIVERIES, SERVICE_LEVELS, DeliveriesFigures, ServiceLevelsFigures
from pregon.spark.report import tables as t
from pregon.spark.report.charts import latency_chart
from pregon.spark.report.section import BAD, GOOD, PLAIN, Section, folded, paragraph
from pregon.spark.report.words import CLASSES, PARTS, Both, counted, number, share

_ACCEPTED = t.counted("accepted", "accepted", "aceptados")
_SETTLED = t.counted("settled", "settled", "terminados")
_FAILURES = t.counted("failures", "failed attempts", "intentos fallidos")
_PERCENTILES = (
    t.timed("p50_ms", "p50", "p50"),
    t.timed("p95_ms", "p95", "p95"),
    t.timed("p99_ms", "p99", "p99"),
)
_LEVELS = (
    t.text("topic", "topic", "tema"),
    t.text("subscriber", "subscriber", "suscriptor"),
    t.classed("class_", "class", "clase"),
    _ACCEPTED,
    _SETTLED,
    _FAILURES,
    t.counted("backlog", "backlog", "atraso"),
    *_PERCENTILES,
    t.timed("max_ms", "longest", "máximo"),
)
_HOURS = (t.dated("hour", "hour (UTC)", "hora (UTC)"), _ACCEPTED, _SETTLED, _FAILURES, *_PERCENTILES)
_CLASS_WORDS: Both = (
    "The class is that of the time from accepted to settled that 95 of 100 deliveries kept (ITU-T G.1010): preferred "
    "up to 2 s, acceptable up to 4 s, unacceptable above.",
    "La clase es la del tiempo entre aceptado y terminado que cumplieron 95 de cada 100 entregas (UIT-T G.1010): "
    "preferida hasta 2 s, aceptable hasta 4 s, inaceptable por encima.",
)


def service_levels(figures: ServiceLevelsFigures) -> Section:
    """Who was served how, by the classes of G.1010."""
    bad = figures.unacceptable_count
    served = number(figures.subscriptions_count)
    if not figures.subscriptions_count:
        answer = ("Nothing was accepted for anybody", "No se aceptó nada para nadie")
    elif bad:
        was, received = ("was", "recibió") if bad == 1 else ("were", "recibieron")
        answer = (
            f"{number(bad)} of {served} subscriptions {was} served unacceptably late",
            f"{number(bad)} de {served} suscripciones {received} inaceptablemente tarde",
        )
    else:
        answer = (
            f"None of {served} subscriptions was served unacceptably late",
            f"Ninguna de {served} suscripciones recibió inaceptablemente tarde",
        )
    slowest: Both = ("Subscriptions, the slowest first", "Suscripciones, las más lentas primero")
    newest: Both = ("Hours, the newest first", "Horas, las más nuevas primero")
    body = [
        paragraph(_CLASS_WORDS),
        latency_chart(figures),
        _classes(figures),
        t.table(slowest, _LEVELS, figures.subscriptions, count=figures.subscriptions_count),
        folded(newest, t.table(newest, _HOURS, figures.hours[::-1], count=figures.hours_count)),
    ]
    return Section(
        SERVICE_LEVELS, answer, BAD if bad else GOOD if figures.subscriptions_count else PLAIN, "\n".join(body)
    )


def _classes(figures: ServiceLevelsFigures) -> str:
    """How many hours of subscriptions were of each class."""
    found = [name for name in CLASSES if figures.classes.get(name)]
    items = "".join(f"<li>{t.badge(name)} {number(figures.classes[name])}</li>" for name in found)
    words = paragraph(("Hours of subscriptions by class:", "Horas de suscripciones según su clase:"))
    return f'{words}\n<ul class="classes">{items}</ul>' if items else ""


def deliveries(figures: DeliveriesFigures) -> Section:
    """What became of every message for every subscriber."""
    count = counted(figures.deliveries, ("delivery", "entrega"), ("deliveries", "entregas"))
    topics = counted(figures.topics, ("topic", "tema"), ("topics", "temas"))
    subscribers = counted(figures.subscribers, ("subscriber", "suscriptor"), ("subscribers", "suscriptores"))
    answer: Both = (f"{count[0]} of {topics[0]} to {subscribers[0]}", f"{count[1]} de {topics[1]} a {subscribers[1]}")
    columns = (
        t.worded("result", PARTS, "result", "resultado"),
        t.counted("count", "deliveries", "entregas"),
        t.written(lambda one: share(one.count, figures.deliveries), "share", "parte"),
    )
    return Section(DELIVERIES, answer, PLAIN, t.table(("How they stand", "Cómo están"), columns, figures.outcomes))
