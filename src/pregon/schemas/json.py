"""JSON from strangers: strictly what RFC 8259 says, and not too deep.

Promises:
- Whatever the bytes, a value comes back or ValueError is raised, saying where and why; what
  comes back is not deeper than `DEPTH_MAX`, and what is deeper stops msgspec before it stops the process.
- UTF-8 only, without a byte order mark, without halves of surrogate pairs; no NaN, no Infinity, no comments, no
  trailing commas. A number beyond what a double holds, or a whole one of more than 4,300 digits, is refused too.
- Of a name that comes twice in an object, the last one counts, as almost everybody does.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pregon.schemas.reasons import shorten

DEPTH_MAX = 100
"""Arrays and objects inside one another in JSON from outside."""

_TOO_DEEP = f"more than {DEPTH_MAX} arrays and objects inside one another"


def parse_json(data: bytes) -> object:
    """The value; raises ValueError, saying where and why, in few words."""
    try:
        value: object = msgspec.json.decode(data)
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise ValueError(shorten(str(error))) from error
    # Most bodies have too few brackets to be deep, and are not walked through.
    if data.count(b"[") + data.count(b"{") > DEPTH_MAX and _is_too_deep(value):
        raise ValueError(_TOO_DEEP)
    return value


def _is_too_deep(value: object) -> bool:
    """Whether there is an array or object at one depth too many, looking at one depth after the other."""
    level: list[Any] = [value]
    for _ in range(DEPTH_MAX):
        level = [inner for each in _nested(level) for inner in (each.values() if type(each) is dict else each)]
    return bool(_nested(level))


def _nested(values: list[Any]) -> list[Any]:
    return [each for each in values if type(each) is list or type(each) is dict]
