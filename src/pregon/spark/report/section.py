"""A section of the report: the answer as a sentence, then what it rests on, then of what and when it was made."""

from __future__ import annotations

from dataclasses import dataclass

from pregon.model.pipeline_results import Made
from pregon.spark.report.words import STEP_NAMES, Both, both, instant, number

GOOD, BAD, PLAIN = "good", "bad", "plain"


@dataclass(frozen=True, slots=True)
class Section:
    """What a step found."""

    step: str
    answer: Both
    """The one sentence that somebody in a hurry reads."""
    mood: str
    """Whether that is good, bad, or neither."""
    body: str
    """HTML."""

    def render(self, made: Made) -> str:
        """As HTML."""
        when = (
            f"Made {instant(made.made_at)} UTC from {_sources(made, 0)}.",
            f"Hecho el {instant(made.made_at)} UTC con {_sources(made, 1)}.",
        )
        return _frame(
            self.step,
            f'<p class="answer {self.mood}">{both(self.answer)}</p>\n{self.body}\n<p class="made">{both(when)}</p>',
        )

    def tile(self) -> str:
        """The answer alone, for the top of the page."""
        return (
            f'<a class="tile {self.mood}" href="#{self.step}">'
            f"<strong>{both(STEP_NAMES[self.step])}</strong><span>{both(self.answer)}</span></a>"
        )


def missing(step: str) -> str:
    """The section of a step that has not run."""
    words = (
        f"This has not run yet: pregon pipeline run {step}",
        f"Todavía no se ejecutó: pregon pipeline run {step}",
    )
    return _frame(step, f'<p class="answer plain">{both(words)}</p>')


def folded(title: Both, inside: str) -> str:
    """Something long that is shown when it is asked for."""
    return f"<details><summary>{both(title)}</summary>\n{inside}\n</details>" if inside else ""


def paragraph(words: Both) -> str:
    """A paragraph."""
    return f"<p>{both(words)}</p>"


def _frame(step: str, inside: str) -> str:
    title = f'<h2 id="{step}-title">{both(STEP_NAMES[step])}</h2>'
    return f'<section id="{step}" aria-labelledby="{step}-title">\n{title}\n{inside}\n</section>'


def _sources(made: Made, lang: int) -> str:
    """How many rows of which tables."""
    rows: dict[str, int] = {}
    for source in made.sources:
        rows[source.table] = rows.get(source.table, 0) + source.rows
    told = [f"{number(count)} {('rows of', 'filas de')[lang]} {table}" for table, count in rows.items()]
    return (" and ", " y ")[lang].join(told) or ("nothing", "nada")[lang]
