"""The ZeroMQ doors: the fast lane (PREGON/1), the live feed for plain SUB sockets, the ingest for plain PUSH sockets.

One thread each, so that none of them delays another.
"""
