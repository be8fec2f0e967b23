"""A broker that the tests of a module share, each with a service of its own, run as its test needs it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from .broker_process import BrokerProcess

Options = Mapping[str, int | str]


@contextmanager
def shared_broker(place: Path, services: Mapping[str, Options], *options: str) -> Iterator[BrokerProcess]:
    """A broker whose services have these options, and the others those; nobody may meet with a bug in it."""
    config = place / "services.toml"
    config.write_text("\n".join(_table(name, own) for name, own in services.items()))
    broker = BrokerProcess(place, "--config", str(config), *options)
    try:
        broker.start()
        yield broker
        assert broker.is_alive, f"the broker ended:\n{broker.said()}"
        assert broker.bugs() == []
    finally:
        broker.end()


def _table(name: str, options: Options) -> str:
    # A string of JSON is one of TOML too.
    lines = [f"{option} = {json.dumps(value)}" for option, value in options.items()]
    return "\n".join((f"[service.{json.dumps(name)}]", *lines, ""))
