"""A soak: everything at once for minutes, with failures, and then an audit of every message.

Half a thousand subscribers of all kinds, fed through every door, while their web services fail, hang and restart and
the hub itself is killed once. What it is made of is in `cast`; what must be true at the end is in `audit`.
"""
