"""The command line: one file per noun, and what they share in `output` and `connect`.

Commands only ask and show. What they ask is done by a hub, through the client.
"""

from pregon.cli.app import app, main

__all__ = ["app", "main"]
