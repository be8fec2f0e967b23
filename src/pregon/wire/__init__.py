"""PREGON/1, the protocol of the fast lane: frames and headers, shared by the hub and its clients.

Bytes in, structures out, and back. Sockets are left to `edges.zmq` and `client`; the drawing of every byte
is in docs/reference/wire.md.
"""
