"""A hub in a process of its own, as a user runs it, for the time of a measurement."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from pregon.bench.peers.process import free_ports
from pregon.client import Client
from pregon.errors import PregonError


class HubProcess:
    """`pregon serve` on free loopback ports, or on these two, its data in a directory; its log in a file if one is
    named."""

    def __init__(
        self, directory: Path, *arguments: str, ports: tuple[int, int] | None = None, log: Path | None = None
    ) -> None:
        self.directory = directory
        port, http_port = ports or free_ports(2)
        self.url = f"tcp://127.0.0.1:{port}"
        self.http = f"127.0.0.1:{http_port}"
        self._arguments = ("--feed", "", "--ingest", "", "--services-front", "", "--http", self.http, *arguments)
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self.start_s = 0.0
        """From starting the process to its first answer."""

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [sys.executable, "-m", "pregon", "serve", "--data", str(self.directory), "--zmq", self.url]
        begun = time.perf_counter()
        command += [*self._arguments, "--log-level", "warning"]
        with ExitStack() as files:
            log = files.enter_context(self._log.open("ab")) if self._log else None
            self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
        with Client(self.url, timeout_ms=200) as client:
            while True:
                try:
                    client.ping()
                    break
                except PregonError:
                    if self._process.poll() is not None or time.perf_counter() - begun > 60:
                        raise
        self.start_s = time.perf_counter() - begun

    def stop(self) -> None:
        """End it as an operator would."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)

    def kill(self) -> None:
        """End it as nothing in it can notice."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(timeout=30)

    def client(self) -> Client:
        """A client of it."""
        return Client(self.url, producer="bench", timeout_ms=60_000)

    def memory_mib(self, field: str = "VmRSS") -> float:
        """How much memory it uses now (`VmHWM`: at most so far)."""
        assert self._process is not None
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024
        return float("nan")

    def __enter__(self) -> HubProcess:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def disk_bytes(directory: Path) -> int:
    """What the files of a directory take."""
    return sum(path.stat().st_size for path in directory.iterdir() if path.is_file())
