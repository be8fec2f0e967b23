"""The page: every section, the switch of languages, and the policy that keeps it to itself.

One file that needs nothing else: style and script are inside it, and its policy lets in those two and nothing besides,
so that not even a mistake of ours could make a stranger's text run. It is the same from a disk, a mail or a server.

Promises:
- Pure: figures in, a text out; the same for the same.
- Without scripts it shows everything, and the switch of languages works.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from pregon.model.pipeline_figures import (
    ARCHIVE,
    CAUSALITY,
    DELIVERIES,
    RECONCILIATION,
    SERVICE_LEVELS,
    TRAFFIC,
    Figures,
)
from pregon.model.pipeline_results import Made
from pregon.spark.report.checking import causality, reconciliation
from pregon.spark.report.section import Section, missing
from pregon.spark.report.serving import deliveries, service_levels
from pregon.spark.report.volume import archive, traffic
from pregon.spark.report.words import Both, both, check_language, instant

STYLE = (Path(__file__).parent / "report.css").read_text(encoding="utf-8")
SCRIPT = (Path(__file__).parent / "report.js").read_text(encoding="utf-8")
TITLE: Both = ("Pregón: what the hub did", "Pregón: lo que hizo el hub")

SECTIONS: dict[str, Callable[..., Section]] = {
    RECONCILIATION: reconciliation,
    SERVICE_LEVELS: service_levels,
    DELIVERIES: deliveries,
    CAUSALITY: causality,
    TRAFFIC: traffic,
    ARCHIVE: archive,
}
"""In the order of the page: what must be right first, then how well it goes, then how much there is."""


def _hash_of(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


POLICY = (
    f"default-src 'none'; style-src {_hash_of(STYLE)}; script-src {_hash_of(SCRIPT)}; "
    "base-uri 'none'; form-action 'none'"
)
"""The Content-Security-Policy of the page."""

Found = Mapping[str, tuple[Made, Figures]]
"""The newest figures of the steps that ran, by step."""


def render_page(found: Found, lang: str, made_at: str) -> str:
    """The page, which begins in a language; raises BadRequest for one that it does not speak."""
    check_language(lang)
    sections = {step: SECTIONS[step](figures) for step, (_, figures) in found.items()}
    shown = [step for step in SECTIONS if step in sections]
    tiles = "\n".join(sections[step].tile() for step in shown)
    rendered = [sections[step].render(found[step][0]) if step in sections else missing(step) for step in SECTIONS]
    hubs = sorted({made.hub for made, _ in found.values()})
    told = (
        f"Made {instant(made_at)} UTC, of {', '.join(hubs) or 'no hub'}. All times are UTC.",
        f"Hecho el {instant(made_at)} UTC, de {', '.join(hubs) or 'ningún hub'}. Todas las horas son UTC.",
    )
    parts = [
        f'<!DOCTYPE html>\n<html lang="{lang}" data-en="{TITLE[0]}" data-es="{TITLE[1]}">\n<head>',
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">',
        f"<title>{TITLE[lang == 'es']}</title>\n<style>{STYLE}</style>\n</head>\n<body>",
        f"<header>\n{_switch(lang)}\n<h1>{both(TITLE)}</h1>\n<p>{both(told)}</p>\n</header>\n<main>",
        f'<nav class="tiles">\n{tiles}\n</nav>' if tiles else "",
        *rendered,
        f"</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
    ]
    return "\n".join(parts)


def _switch(lang: str) -> str:
    """Two radio buttons: the style looks at which is checked."""
    choices = "".join(
        f'<label lang="{code}"><input type="radio" name="lang" id="in-{code}" value="{code}"'
        f"{' checked' if code == lang else ''}>{name}</label>"
        for code, name in (("es", "Español"), ("en", "English"))
    )
    return f'<fieldset class="languages"><legend>Idioma / Language</legend>{choices}</fieldset>'


def describe(found: Found, made_at: str) -> dict[str, Any]:
    """The same for programs: of each step when and of what it was made, and its figures."""
    steps = {
        step: {"made": msgspec.to_builtins(made), "figures": msgspec.to_builtins(figures)}
        for step, (made, figures) in found.items()
    }
    return {"made_at": made_at, "steps": steps}
