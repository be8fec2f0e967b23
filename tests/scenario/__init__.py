"""Whole programs: real hubs in processes of their own, killed, starved, flooded and lied to.

What a single part promises is proved in `unit`, `contract` and `property`. Here the promises must hold together,
on a real disk and real sockets.
"""
