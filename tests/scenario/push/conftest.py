"""What most tests of push begin with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pregon.hub.hub import Hub

from .receiver import Station
from .subscriber_hub import pushing


@pytest.fixture
def hub(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[Hub]:
    """A hub that pushes."""
    with pushing(tmp_path, caplog) as one:
        yield one


@pytest.fixture
def station() -> Iterator[Station]:
    """The web service of a subscriber."""
    with Station() as one:
        yield one
