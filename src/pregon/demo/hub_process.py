"""The hub of the demo: `pregon serve` in a process of its own, which can be killed and started again.

Promises:
- It listens on loopback only, on ports that the system gives, and takes no setting from the environment: nothing of the
  user's own hub is read or touched.
- `start` returns when the hub has said that it is ready; a hub that ends instead raises, with the end of its log.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from pregon.demo.place import Place
from pregon.errors import HubStopping

_READY = b'"event": "hub ready"'
_START_S_MAX = 60.0
_STOP_S_MAX = 10.0
_LOOK_S = 0.02


class HubProcess:
    """`pregon serve`, its data and its log in a directory."""

    def __init__(self, directory: Path) -> None:
        self._data = directory / "data"
        self._log = directory / "hub.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._place = Place()
        self.url = self._place.url
        """The address of its HTTP door, the same after each start."""

    @property
    def is_up(self) -> bool:
        """Whether it was started and not ended since."""
        return self._process is not None

    def start(self) -> None:
        """Start it, and wait until it is ready; raises HubStopping."""
        begin = self._log.stat().st_size if self._log.exists() else 0
        command = [sys.executable, "-m", "pregon", "serve", "--data", str(self._data), "--push-allow", "127.0.0.1"]
        doors = ["--zmq", "tcp://127.0.0.1:*", "--http", f"127.0.0.1:{self._place.port}"]
        doors += ["--feed", "", "--ingest", "", "--services-front", ""]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PREGON_")}
        with self._log.open("ab") as log:
            # In a session of its own: Ctrl-C is for whoever watches, and ends the hub in good order.
            process = subprocess.Popen(
                [*command, *doors],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
        self._process = process
        last = time.monotonic() + _START_S_MAX
        while not self._is_ready(begin):
            if process.poll() is not None or time.monotonic() > last:
                raise HubStopping(f"the hub of the demo did not start; the end of its log: {self._end_of_log()}")
            time.sleep(_LOOK_S)

    def kill(self) -> int:
        """End it as nothing in it can notice (`kill -9`); the process that it was."""
        process, self._process = self._process, None
        if process is None:
            return 0
        process.kill()
        process.wait()
        return process.pid

    def stop(self) -> None:
        """End it as an operator would; harmless if it does not run."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_STOP_S_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def close(self) -> None:
        """Stop it, and give its address back."""
        self.stop()
        self._place.give_back()

    def require_alive(self) -> None:
        """Raises HubStopping if it ended by itself."""
        if self._process is not None and self._process.poll() is not None:
            raise HubStopping(f"the hub of the demo ended by itself; the end of its log: {self._end_of_log()}")

    def _is_ready(self, begin: int) -> bool:
        """Whether it has said so in its log, since a byte of it."""
        return any(_READY in line for line in self._log.read_bytes()[begin:].splitlines())

    def _end_of_log(self) -> str:
        return self._log.read_text(errors="replace")[-2_000:].strip() or "it is empty"
