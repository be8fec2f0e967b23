"""A web service to which a hub pushes messages: it checks who sends them, keeps each one once, and only then answers.

Nothing but Python. Give it the subscriber's signing secret, a port and a file:

    WEBHOOK_SECRET=whsec_… python3 examples/receive_pushes.py 9001 novedades.db

It takes CloudEvents and raw messages, which are signed. SOAP is not: it takes that only at the path in SOAP_PATH, which
nobody but the hub should know.
"""

import base64
import hmac
import os
import sqlite3
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote
from xml.etree import ElementTree

SECRET = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
SOAP_PATH = os.environ.get("SOAP_PATH", "")
CLOCKS_APART_S = 300
REQUEST_BYTES_MAX = 8 * 1024 * 1024
ENVELOPE = "{http://schemas.xmlsoap.org/soap/envelope/}"
PS = "{http://ps.agesic.gub.uy}"
WSA = "{http://www.w3.org/2005/08/addressing}"


class Refused(Exception):
    """The answer is this status, and nothing is kept."""


def read_signed(headers, body):
    """The id, topic, number and content of a signed message."""
    said = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    signed = f"{said[0]}.{said[1]}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.digest(SECRET, signed, "sha256")).decode()
    signatures = headers.get("webhook-signature", "").split()  # While a secret is being changed there are two.
    if not any(hmac.compare_digest(expected.encode(), one.encode()) for one in signatures):
        raise Refused(401)
    if abs(time.time() - int(said[1])) > CLOCKS_APART_S:
        raise Refused(401)  # Somebody sends again what it once saw.
    topic = headers.get("ce-pregontopic") or headers["Pregon-Topic"]
    seq = headers.get("ce-pregonsequence") or headers["Pregon-Seq"]
    return said[0], unquote(topic), int(seq), body


def read_soap(path, body):
    """The same of a SOAP envelope."""
    if not SOAP_PATH or not hmac.compare_digest(path.encode(), SOAP_PATH.encode()):
        raise Refused(404)
    try:
        root = ElementTree.fromstring(body)
    except ElementTree.ParseError as error:
        raise Refused(400) from error
    said = [
        root.findtext(f"{ENVELOPE}Header/{name}") for name in (f"{WSA}MessageID", f"{PS}topic", f"{PS}notificationId")
    ]
    inside = root.find(f"{ENVELOPE}Body")
    if inside is None or not all(said):
        raise Refused(400)
    content = b"".join(ElementTree.tostring(one, encoding="utf-8") for one in inside)
    return said[0], said[1], int(said[2]), content


class Kept:
    """The messages, in a file. What `keep` returned from is on disk."""

    def __init__(self, file):
        self._lock = threading.Lock()
        self._database = sqlite3.connect(file, check_same_thread=False)
        table = "message (id TEXT PRIMARY KEY, topic TEXT, seq INTEGER, body BLOB)"
        self._database.execute(f"CREATE TABLE IF NOT EXISTS {table}")

    def keep(self, *message):
        """Keep a message; whether it is new: one that comes again is known by its id."""
        with self._lock, self._database:
            return self._database.execute("INSERT OR IGNORE INTO message VALUES (?, ?, ?, ?)", message).rowcount > 0


class Novedades(BaseHTTPRequestHandler):
    """Answers the hub: 204 when it has the message."""

    protocol_version = "HTTP/1.1"  # So that the hub can use a connection again.
    timeout = 60

    def do_POST(self):
        self.answer(self.take())

    def take(self):
        """Take one message; the status to answer with."""
        size = int(self.headers.get("Content-Length") or 0)
        if size > REQUEST_BYTES_MAX:
            self.close_connection = True
            return 413
        body = self.rfile.read(size)
        try:
            if self.headers.get("Content-Type", "").startswith("text/xml") and "webhook-id" not in self.headers:
                message = read_soap(self.path, body)
            else:
                message = read_signed(self.headers, body)
            if kept.keep(*message):
                print("got", message[1], message[2], flush=True)
        except Refused as refused:
            return refused.args[0]  # The hub tries a few times more, and then does as on_poison says.
        except sqlite3.Error:
            return 503  # Not now: the hub comes back with this one, and holds back what follows.
        return 204

    def answer(self, status):
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    kept = Kept(sys.argv[2])
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Novedades)
    print("listening on", server.server_port, flush=True)
    server.serve_forever()
