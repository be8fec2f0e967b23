"""What the headers of PREGON/1 have in common."""

from __future__ import annotations

from typing import Annotated

import msgspec

from pregon.limits import INTEGER_MAX

Number = Annotated[int, msgspec.Meta(ge=-INTEGER_MAX, le=INTEGER_MAX)]
"""What fits in 64 bits."""


class Header(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What every header is."""


class Request(Header, kw_only=True):
    """What every request may say besides: the key or token of who asks."""

    auth: str = ""
