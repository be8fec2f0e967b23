"""A mail server for tests: speaks as much SMTP as a letter needs, and keeps what it gets."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage


@dataclass
class MailServer:
    """A mail server that keeps letters, and refuses the recipients that it is told to."""

    address: str = ""
    letters: list[tuple[list[str], EmailMessage]] = field(default_factory=list)
    refused: tuple[str, ...] = ()


@contextmanager
def mailing(port: int = 0) -> Iterator[MailServer]:
    """A server that listens, at a port of its own or at this one."""
    server = MailServer()

    class Handler(socketserver.StreamRequestHandler):
        def say(self, line: str) -> None:
            self.wfile.write(line.encode() + b"\r\n")

        def handle(self) -> None:
            self.say("220 stub")
            recipients: list[str] = []
            while line := self.rfile.readline().decode().strip():
                verb = line[:4].upper()
                if verb == "RCPT":
                    address = line.partition("<")[2].partition(">")[0]
                    if address in server.refused:
                        self.say("550 nobody of that name")
                        continue
                    recipients.append(address)
                if verb == "DATA":
                    self.say("354 go on")
                    content = b""
                    while (piece := self.rfile.readline()) not in (b".\r\n", b""):
                        content += piece.removeprefix(b".") if piece.startswith(b"..") else piece
                    letter = message_from_bytes(content, policy=policy.default)
                    assert isinstance(letter, EmailMessage)
                    server.letters.append((recipients, letter))
                self.say("221 bye" if verb == "QUIT" else "250 fine")
                if verb == "QUIT":
                    return

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True

    with Server(("127.0.0.1", port), Handler) as listener:
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        server.address = f"127.0.0.1:{listener.server_address[1]}"
        try:
            yield server
        finally:
            listener.shutdown()
            thread.join()
