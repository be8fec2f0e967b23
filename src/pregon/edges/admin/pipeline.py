"""The pipeline: what Spark last found in everything that the hub did, and when; how to have it run where it does not.

The whole report is a page of its own, written by `pregon pipeline report`. It is served as the file that it is, in a
sandbox: it gets no origin of ours, so whatever is in it can neither read nor ask for anything of these pages; its
policy lets in its own style and script, loads nothing else, and opens no form and no window. One thing is left to a
script in it: to take its own tab elsewhere, and in the address what the report says. Who runs the pipeline writes it.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from pregon.edges.admin.exchange import HTML, AdminAnswer
from pregon.edges.admin.pipeline_files import has_report, parse_instant, read_report, read_results
from pregon.edges.admin.pipeline_sections import ROWS, describe, name_part
from pregon.edges.admin.routes import Page
from pregon.edges.admin.visit import Visit
from pregon.errors import NotFound
from pregon.model.pipeline_figures import (
    ARCHIVE,
    CAUSALITY,
    DELIVERIES,
    PARTS_SUM,
    RECONCILIATION,
    SERVICE_LEVELS,
    TRAFFIC,
)
from pregon.security.keys import ADMIN

ORDER = (RECONCILIATION, SERVICE_LEVELS, CAUSALITY, TRAFFIC, DELIVERIES, ARCHIVE)
"""What must be right first, then how well it goes, then how much there is."""
_OPTIONAL = (ARCHIVE,)
"""Steps that run only where somebody asks for them: nobody is told that they are missing."""
_REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def _root(visit: Visit) -> Path:
    return Path(visit.desk.settings.pipeline_results).absolute()


def show_pipeline(visit: Visit) -> AdminAnswer:
    """The page."""
    root = _root(visit)
    results = read_results(root)
    sections = {step: describe(visit, results[step]) for step in ORDER}
    return visit.page(
        "pipeline.html",
        steps=[step for step in ORDER if sections[step] or results[step].problem or step not in _OPTIONAL],
        sections=sections,
        results=results,
        has_any=any(sections.values()) or any(one.problem for one in results.values()),
        has_report=has_report(root) and visit.may_administer,
        folder=str(root),
        quoted=shlex.quote(str(root)),
        hub=visit.request.base_url,
        is_open=visit.desk.gate.rules.is_open,
        name_part=lambda part: name_part(part, visit.say),
        parts_sum=PARTS_SUM,
        instant=parse_instant,
        rows_max=ROWS,
    )


def show_report(visit: Visit) -> AdminAnswer:
    """The whole report. For who administers: private conversations are not taken out of it."""
    found = read_report(_root(visit))
    if found is None:
        raise NotFound("there is no report yet: write one with `pregon pipeline report`")
    return AdminAnswer(found, 200, HTML, [("content-security-policy", _REPORT_POLICY)])


PAGES = [
    Page("GET", "pipeline", show_pipeline),
    Page("GET", "pipeline/report", show_report, ADMIN),
]
