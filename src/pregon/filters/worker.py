"""The child process that examines bodies: `python -m pregon.filters.worker FD`, started by `child`.

XPath keeps Python's lock while it works, and neither it nor JMESPath can be interrupted; in a process of its own
a filter holds up nobody, and can be killed.

Promises:
- The kernel ends this process when one message takes more processor time than its task allows: SIGPROF, which has
  no handler here. The hub's own clock stays behind it for a process that gets no processor.
- It ends when the hub does: the connection then reads None, and a message in between ends by its time limit. (It
  does not ask the kernel for a signal at its parent's death, which comes when the *thread* that started it ends.)
- It takes at most `ADDRESS_SPACE_BYTES_MAX`, writes no file, and goes before the hub when the machine has no memory.
"""

from __future__ import annotations

import contextlib
import resource
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from pregon import limits
from pregon.clock import monotonic_ms
from pregon.errors import BadFilter
from pregon.filters.cache import FilterCache
from pregon.filters.expression import Verdict, failure
from pregon.filters.pipe import Row, Task, Wire

ADDRESS_SPACE_BYTES_MAX = 1024 * limits.MIB
"""Memory that the process may ask for, of which Python and its libraries take a third."""
_OOM_SCORE_ADJUSTMENT = "800"
_FIRST = '{"or":[{"xpath":"/b"},{"jmespath":"b"}]}'


def main() -> None:
    """Examine what comes over the connection whose file descriptor is the argument, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _restrict()
    wire = Wire(socket.socket(fileno=int(sys.argv[1])))
    # The hub may go away at any moment, and then nobody wants to hear of it.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        serve(wire)


def serve(wire: Wire) -> None:
    """Carry out tasks, one after the other, until the hub has no more."""
    decoder = msgspec.msgpack.Decoder(Task)
    cache = FilterCache()
    # What is done for the first time takes longer: that is no filter's fault, and must not count against its limit.
    for body in (b"<a/>", b"{}"):
        cache.require(_FIRST).examine(Row(None, "", "", {}, body))
    wire.send(None)
    while (frame := wire.receive()) is not None:
        task = decoder.decode(frame)
        del frame
        _carry_out(task, wire, cache)


def _carry_out(task: Task, wire: Wire, cache: FilterCache) -> None:
    ends_ms = monotonic_ms() + task.turn_ms
    limit_s = task.time_limit_ms / 1_000
    left = len(task.rows)
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    examine = _examining(task.filter, cache)
    for row in task.rows:
        verdict = examine(row)
        left -= 1
        if not left or monotonic_ms() >= ends_ms:
            signal.setitimer(signal.ITIMER_PROF, 0)
            # In one piece: the hub is woken once for the last verdict and the end.
            wire.send(verdict, None)
            return
        wire.send(verdict)
        signal.setitimer(signal.ITIMER_PROF, limit_s)


def _examining(text: str, cache: FilterCache) -> Callable[[Row], Verdict]:
    try:
        return cache.require(text).examine
    except BadFilter as error:
        # The hub compiled it before it asked, with the same code: this takes another Pregón on the path.
        refused = failure(str(error))
        return lambda _: refused


def _restrict() -> None:
    """Take what is not needed away from this process, where the system lets us."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE_ADJUSTMENT, encoding="ascii")
    for what, most in (
        (resource.RLIMIT_AS, ADDRESS_SPACE_BYTES_MAX),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(what, (most, most))


if __name__ == "__main__":
    main()
