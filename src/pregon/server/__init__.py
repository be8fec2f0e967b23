"""The servers: the only place that chooses the parts and joins them.

A hub with its doors, and a service broker by itself.
"""

from pregon.server.hub_server import Server, require_secured

__all__ = ["Server", "require_secured"]
