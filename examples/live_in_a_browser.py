"""A page that shows a topic as it happens: server-sent events, relayed by the program that serves the page.

With a hub running (`make run`), start this and open http://127.0.0.1:8000 in a browser:

    .venv/bin/python examples/live_in_a_browser.py fallecidos

Then publish from another terminal and watch. The hub does not serve pages of other sites, and a key has no business in
a browser: so the page asks this program, and this program asks the hub. What the browser misses while it is away it
gets when it comes back, because it says which message was the last that it saw.
"""

import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote
from urllib.request import Request, urlopen

HUB = "http://127.0.0.1:5580"
TOPIC = sys.argv[1] if len(sys.argv) > 1 else "fallecidos"
PAGE = """<!doctype html>
<meta charset="utf-8"><title>Live</title>
<h1>What is being published</h1>
<ol id="messages"></ol>
<script>
  const events = new EventSource("/live");
  events.addEventListener("message", (event) => {
    const message = JSON.parse(event.data);
    const line = document.createElement("li");
    line.value = message.seq;
    line.textContent = `${message.producer}: ${message.text ?? JSON.stringify(message.json ?? message.base64)}`;
    document.getElementById("messages").append(line);
  });
</script>
"""


class Handler(BaseHTTPRequestHandler):
    """Two addresses: the page, and the events that it asks for."""

    def do_GET(self):
        if self.path == "/live":
            self.relay()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(PAGE.encode())

    def relay(self):
        asked = Request(f"{HUB}/v1/topics/{quote(TOPIC)}/stream?from=1")
        if "Last-Event-ID" in self.headers:
            asked.add_header("Last-Event-ID", self.headers["Last-Event-ID"])
        if "PREGON_KEY" in os.environ:
            asked.add_header("Authorization", f"Bearer {os.environ['PREGON_KEY']}")
        with urlopen(asked) as events:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.flush()
            while line := events.readline():
                self.wfile.write(line)
                self.wfile.flush()


ThreadingHTTPServer(("127.0.0.1", 8000), Handler).serve_forever()
