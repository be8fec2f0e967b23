"""The chat in a terminal, and the door through which the plainest of clients talk to a room.

What is said, where, and how it looks is decided without I/O (`conversation` and what it is made of); `talk` is the loop
that speaks with the hub, and `screen`, `plain_lines` and `plain_door` are three faces around it. The chat in a browser
is the HTTP door's.
"""
