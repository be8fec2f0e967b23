"""Services: ask whichever worker is free, and be one.

Both sides of PGS/1 are written once, without I/O (`ask`, `conversation`, `window`; `worker_talk`), and driven by thin
loops: blocking, with asyncio, and the worker's own thread. Choosing a worker is the broker's business, which is never
imported here.
"""
