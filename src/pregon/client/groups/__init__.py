"""Groups: take part in one, and be shown every message after those that caused it.

A member's side is written once, without I/O (`conversation` and what it is made of), and driven by thin loops: threads
(`group`) and asyncio (`aio_group`). Keeping the log and saying who is a member is the hub's business, which is never
imported here; `brokerless` does without one.
"""
