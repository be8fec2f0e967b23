"""Structured logs: one line an event, its fields beside it.

On a terminal `21:04:05 info  hub ready  zmq=tcp://127.0.0.1:5570`; elsewhere one JSON object a line, for
whatever collects logs. Values are escaped, so that nothing from outside can forge a line.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Any, TextIO

from pregon.clock import format_us

_PLAIN = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _PLAIN}


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        entry: dict[str, Any] = {
            "at": format_us(int(record.created * 1_000_000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False, default=str)


class TerminalFormatter(logging.Formatter):
    """A line that a person reads."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text."""
        at = self.formatTime(record, "%H:%M:%S")
        fields = "  ".join(f"{name}={_plain(value)}" for name, value in _fields(record).items())
        line = f"{at} {record.levelname.lower():<7} {_plain(record.getMessage())}  {fields}".rstrip()
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def _plain(value: object) -> str:
    text = str(value)
    return text if text.isprintable() else json.dumps(text, ensure_ascii=False)


def configure_logs(level: str, stream: TextIO | None = None) -> None:
    """Send the logs to a stream (standard error), in the form that suits it."""
    stream = stream or sys.stderr
    handler = logging.StreamHandler(stream)
    handler.setFormatter(TerminalFormatter() if stream.isatty() else JsonFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("pregon").setLevel(level.upper())
