"""What a topic, producer or subscriber may be called.

Names go into URLs, file names, ZeroMQ prefixes and log lines, so they are plain: ASCII letters, digits,
`.`, `_` and `-`, beginning with a letter or a digit. What people read goes into the description.
"""

from __future__ import annotations

import re

from pregon.errors import BadName, BadRequest
from pregon.limits import DESCRIPTION_CHARACTERS_MAX, NAME_CHARACTERS_MAX

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)


def check_name(kind: str, name: str) -> str:
    """The name, if it is one; raises BadName, saying of which kind and what is allowed."""
    if len(name) > NAME_CHARACTERS_MAX or not _NAME.fullmatch(name):
        raise BadName(
            f"{name[:NAME_CHARACTERS_MAX]!r} is not a {kind} name: use 1 to {NAME_CHARACTERS_MAX} of "
            "A-Z a-z 0-9 . _ - and begin with a letter or a digit"
        )
    return name


def check_description(text: str) -> str:
    """The description, if it is short enough; raises BadRequest."""
    if len(text) > DESCRIPTION_CHARACTERS_MAX:
        raise BadRequest(f"a description has at most {DESCRIPTION_CHARACTERS_MAX} characters")
    return text
