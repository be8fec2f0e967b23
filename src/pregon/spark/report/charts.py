"""The plots of the report: which lines, from which figures, in a language.

What a plot shows is in a table of the same section too, for those who cannot see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pregon.model.pipeline_figures import Hour, ServiceLevelsFigures, TrafficFigures
from pregon.plots import LINES_MAX, Axis, Line, Mark, Plot, draw
from pregon.spark.report.words import LANGUAGES, Both

_NAME_CHARACTERS_MAX = 28
_POINTS_MAX = 500
_LATENCY_MS_MIN = 0.1
"""A logarithmic axis has no zero: what took less is drawn here."""
PREFERRED_S, ACCEPTABLE_S = 2.0, 4.0
_TIME: Both = ("time (UTC)", "hora (UTC)")


def figure(plots: tuple[Plot, Plot]) -> str:
    """A plot on the page, in English and in Spanish."""
    drawn = "".join(f'<div lang="{lang}">{draw(plot)}</div>' for lang, plot in zip(LANGUAGES, plots, strict=True))
    return f'<figure class="plot" tabindex="0">{drawn}</figure>'


def latency_chart(figures: ServiceLevelsFigures) -> str:
    """The percentiles of each hour, under the limits of the classes; empty when nothing was settled."""
    hours = [hour for hour in figures.hours if hour.p50_ms is not None]
    if not hours:
        return ""
    return figure((_latency(hours, 0), _latency(hours, 1)))


def _latency(hours: Sequence[Hour], lang: int) -> Plot:
    def line(name: str, values: Sequence[float | None]) -> Line:
        points = [
            (_seconds(hour.hour), max(value, _LATENCY_MS_MIN) / 1_000)
            for hour, value in zip(hours, values, strict=True)
            if value is not None
        ]
        return Line(name, points)

    names: tuple[Both, Both, Both] = (
        ("half of them (p50)", "la mitad (p50)"),
        ("95 of 100 (p95)", "95 de cada 100 (p95)"),
        ("99 of 100 (p99)", "99 de cada 100 (p99)"),
    )
    values = ([hour.p50_ms for hour in hours], [hour.p95_ms for hour in hours], [hour.p99_ms for hour in hours])
    lines = [line(name[lang], of) for name, of in zip(names, values, strict=True)]
    marks = (
        Mark(("preferred: up to 2 s", "preferida: hasta 2 s")[lang], PREFERRED_S),
        Mark(("acceptable: up to 4 s", "aceptable: hasta 4 s")[lang], ACCEPTABLE_S),
    )
    title = ("From accepted to settled, hour by hour", "De aceptado a terminado, hora por hora")[lang]
    axis = Axis(("seconds", "segundos")[lang], is_log=True)
    return Plot(title, Axis(_TIME[lang], is_time=True), axis, [line for line in lines if line.points], marks)


def traffic_chart(figures: TrafficFigures) -> str:
    """Messages in each window, of the busiest topics; empty when there are none."""
    topics = [topic.topic for topic in figures.topics[:LINES_MAX]]
    counts: dict[str, dict[int, int]] = {topic: {} for topic in topics}
    for window in figures.windows:
        if window.topic in counts:
            counts[window.topic][_seconds(window.start)] = window.messages
    starts = [start for of_topic in counts.values() for start in of_topic]
    if not starts:
        return ""
    lines = [
        Line(_short(topic), _points(of_topic, (min(starts), max(starts)), figures.window_s))
        for topic, of_topic in counts.items()
        if of_topic
    ]
    each = _window_words(figures.window_s)
    title = (f"Messages {each[0]}", f"Mensajes {each[1]}")
    label: Both = ("messages", "mensajes")
    plots = [Plot(title[lang], Axis(_TIME[lang], is_time=True), Axis(label[lang]), lines) for lang in (0, 1)]
    return figure((plots[0], plots[1]))


def _points(counts: dict[int, int], ends: tuple[int, int], window_s: int) -> list[tuple[float, float]]:
    """The windows of a topic in order; one without a message is a zero, while there are not too many."""
    first, last = ends
    if window_s <= 0 or (last - first) // window_s >= _POINTS_MAX:
        return [(float(start), float(count)) for start, count in sorted(counts.items())]
    return [(float(start), float(counts.get(start, 0))) for start in range(first, last + 1, window_s)]


def _window_words(window_s: int) -> Both:
    for size, unit in ((86_400, ("day", "día")), (3_600, ("hour", "hora")), (60, ("minute", "minuto"))):
        if window_s == size:
            return f"each {unit[0]}", f"por {unit[1]}"
    return f"in each {window_s} seconds", f"cada {window_s} segundos"


def _short(name: str) -> str:
    return name if len(name) <= _NAME_CHARACTERS_MAX else name[: _NAME_CHARACTERS_MAX - 1] + "…"


def _seconds(instant: str) -> int:
    return int(datetime.fromisoformat(instant).timestamp())
