"""The verbs of the hub: publish, pull, acknowledge, park, replay, trace, account, retain.

Each verb is an operation for the committer or a read for a reader thread, and answers with a ticket. Sockets,
formats and permissions of doors are left to `edges`; SQL is left to `store`.
"""
