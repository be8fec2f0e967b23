"""Messages and filters for the scenarios of filters, and a look at the processes that examine them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pregon.filters.examiner import Examiner
from pregon.filters.expression import Verdict
from pregon.filters.lanes import Lane
from pregon.model.batch import StoredBatch, encode, pack, stamp
from pregon.model.message import Message, Outgoing

TOO_LONG = Verdict(True, "the filter failed: it took more than 200 ms")
FAR_TOO_LONG = Verdict(True, "the filter failed: it took more than 1000 ms")
DIED = Verdict(True, "the filter failed: its process died")

WIDE = b"<a>" + b"<b>1</b>" * 20_000 + b"</a>"
DEEP = b"<a>" * 99 + b"<b/>" * 2_000 + b"</a>" * 99
CUBIC = {"xpath": "//*[count(//*[count(//*) > 1]) > 1]"}
BUSY_TICKS = 25
"""More than a small body takes, less than the limit of the slow lane."""
AGE = json.dumps({"jmespath": "edad > `60`"})


def messages(*bodies: bytes, **more: Any) -> list[Message]:
    sent = [Outgoing(body, **more) for body in bodies]
    return StoredBatch(1, len(sent), encode(stamp(pack(sent, range(len(sent))), "DGREC", 7))).messages("fallecidos")


def ages(*values: int) -> list[Message]:
    return messages(*[b'{"edad": %d}' % value for value in values])


def examine_all(examiner: Examiner, text: str, wanted: list[Message]) -> list[tuple[Lane, Verdict]]:
    """Turn after turn in the lane that the examiner says, as the hub does."""
    found: list[tuple[Lane, Verdict]] = []
    while len(found) < len(wanted):
        lane = examiner.lane_of(text)
        found += [(lane, verdict) for verdict in examiner.examine(text, wanted[len(found) :], lane=lane)]
    return found


def examine_in(examiner: Examiner, lane: Lane, text: str, wanted: list[Message]) -> list[Verdict]:
    """Turn after turn in the same lane: on a busy machine a turn may be over after one message."""
    found: list[Verdict] = []
    while len(found) < len(wanted):
        some = examiner.examine(text, wanted[len(found) :], lane=lane)
        if not some:
            break
        found += some
    return found


def ends_soon(pid: int) -> bool:
    """Whether a process ends, or is only waiting for somebody to ask how it ended."""
    return eventually(lambda: state_of(pid) in {"", "Z"})


def state_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def processor_ticks(pid: int) -> int:
    """The processor time that a process has had, in hundredths of a second."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return int(user) + int(system)


def eventually(is_true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 20
    while not is_true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
