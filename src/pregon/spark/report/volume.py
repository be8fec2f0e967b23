"""The sections that say how much there is: traffic and the archive."""

from __future__ import annotations

from pregon.model.pipeline_figures import ARCHIVE, TRAFFIC, Archived, ArchiveFigures, TrafficFigures
from pregon.spark.report import tables as t
from pregon.spark.report.charts import traffic_chart
from pregon.spark.report.section import GOOD, PLAIN, Section, paragraph
from pregon.spark.report.words import KINDS, Both, counted, number, size_bytes

_TOPICS = (
    t.text("topic", "topic", "tema"),
    t.counted("messages", "messages", "mensajes"),
    t.sized("bytes", "bytes", "bytes"),
    t.counted("windows", "windows with messages", "intervalos con mensajes"),
    t.counted("peak_messages", "busiest window", "mayor intervalo"),
    t.dated("last_at", "last (UTC)", "último (UTC)"),
)
_ALERTS = (
    t.text("topic", "topic", "tema"),
    t.worded("kind", KINDS, "what", "qué"),
    t.dated("start", "from (UTC)", "desde (UTC)"),
    t.dated("end", "to (UTC)", "hasta (UTC)"),
    t.counted("count", "messages", "mensajes"),
    t.counted("expected", "expected", "esperados"),
)


def traffic(figures: TrafficFigures) -> Section:
    """What was published, and what was unusual."""
    messages = counted(figures.messages, ("message", "mensaje"), ("messages", "mensajes"))
    topics = counted(figures.topics_count, ("topic", "tema"), ("topics", "temas"))
    unusual = counted(
        figures.alerts_count, ("unusual window", "intervalo inusual"), ("unusual windows", "intervalos inusuales")
    )
    if not figures.alerts_count:
        unusual = ("nothing unusual", "nada inusual")
    answer: Both = (
        f"{messages[0]} in {topics[0]}; {unusual[0]}",
        f"{messages[1]} en {topics[1]}; {unusual[1]}",
    )
    newest: Both = ("Unusual, the newest first", "Lo inusual, lo más nuevo primero")
    busiest: Both = ("Topics, the busiest first", "Temas, los de más mensajes primero")
    body = [
        traffic_chart(figures),
        t.table(newest, _ALERTS, figures.alerts, count=figures.alerts_count),
        t.table(busiest, _TOPICS, figures.topics, count=figures.topics_count),
    ]
    return Section(TRAFFIC, answer, PLAIN, "\n".join(body))


_ARCHIVED = (
    t.text("table", "table", "tabla"),
    t.text("topic", "topic", "tema"),
    t.counted("through", "archived through", "archivado hasta"),
    t.counted("head", "the hub's last", "el último del hub"),
    t.counted(lambda one: _behind(one), "behind", "atraso"),
    t.counted("rows", "rows", "filas"),
)


def archive(figures: ArchiveFigures) -> Section:
    """How far everything is archived."""
    behind = sum(_behind(one) or 0 for one in figures.archived)
    if behind:
        answer = (f"{number(behind)} rows are not archived yet", f"Faltan archivar {number(behind)} filas")
    else:
        answer = ("Everything is archived", "Todo está archivado")
    size = (
        f"{number(figures.files)} files, {size_bytes(figures.bytes)}, in {figures.archive}",
        f"{number(figures.files)} ficheros, {size_bytes(figures.bytes)}, en {figures.archive}",
    )
    caption: Both = ("What is archived", "Qué está archivado")
    body = [t.table(caption, _ARCHIVED, figures.archived, count=figures.archived_count), paragraph(size)]
    return Section(ARCHIVE, answer, PLAIN if behind else GOOD, "\n".join(body))


def _behind(one: Archived) -> int | None:
    return None if one.head is None else max(0, one.head - one.through)
