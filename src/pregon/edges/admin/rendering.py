"""Drawing a page: Jinja2 with everything escaped, the same filters for every page, and no page without them.

Promises:
- What is not Markup is escaped, in text and in attributes.
- A name that a template uses and nobody gave is an error, not an empty place.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pregon.edges.admin import formats
from pregon.edges.admin.assets import asset

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"


@cache
def environment() -> Environment:
    """The templates. Imported at the first page: a hub that nobody looks at starts without them."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(number=formats.number, short=formats.short_number, size=formats.size, duration=formats.duration)
    made.globals.update(asset=asset)
    return made


def render(template: str, values: dict[str, Any]) -> bytes:
    """A template with its values, as bytes."""
    return environment().get_template(template).render(values).encode()
