"""Causal order, pure: who may be shown what, and when. No sockets, no clocks, no threads.

`member` is one member's state machine by the immediate dependency relation; `peer` adds members who join, leave, die
and lose messages, for groups without a hub. What moves the bytes is left to `groups`, `edges` and `client`.
"""
