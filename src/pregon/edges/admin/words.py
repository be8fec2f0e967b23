"""What the pages say, in Spanish and English.

A text is written in English where it is used, and is its own key; `words/*.json` have the Spanish. A text without
Spanish is shown in English, and a test finds it.

    say = words_of("es")
    say("{count} messages wait", count=3)          # "3 mensajes esperan"

Promises:
- What is put into a text is escaped, unless it is Markup: a name that somebody chose is never taken for HTML.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from markupsafe import Markup, escape

LANGUAGES = {"es": "Español", "en": "English"}
_FOLDER = Path(__file__).parent / "words"


@cache
def spanish() -> dict[str, str]:
    """Every text in Spanish, by what it is in English."""
    found: dict[str, str] = {}
    for file in sorted(_FOLDER.glob("*.json")):
        found.update(msgspec.json.decode(file.read_bytes(), type=dict[str, str]))
    return found


class Words:
    """What is said in one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._known = spanish() if language == "es" else {}

    def __call__(self, text: str, /, **values: Any) -> Markup:
        """The text in this language, with the values in their places."""
        found = escape(self._known.get(text, text))
        return found.format(**values) if values else found

    def count(self, count: int, one: str, many: str, /, **values: Any) -> Markup:
        """One of two texts, by how many there are; `{count}` is the number."""
        from pregon.edges.admin.formats import number

        return self(one if count == 1 else many, count=number(count), **values)


@cache
def words_of(language: str) -> Words:
    """What is said in a language; in English for one that is not known."""
    return Words(language if language in LANGUAGES else "en")


def choose_language(accepted: str) -> str:
    """The language that a browser likes best of ours, by its header Accept-Language; English if it says none."""
    best, best_quality = "en", 0.0
    for part in accepted[:400].split(","):
        name, _, quality_text = part.partition(";q=")
        language = name.strip().lower()[:2]
        try:
            quality = float(quality_text) if quality_text else 1.0
        except ValueError:
            continue
        if language in LANGUAGES and quality > best_quality:
            best, best_quality = language, quality
    return best
