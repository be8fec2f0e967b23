"""The contract of the hub: what its verbs promise, on every database that it can be given.

A database is one entry of `conftest.DATABASES`; no test knows which one it runs on. Sockets, formats and
clients are left to other suites.
"""
