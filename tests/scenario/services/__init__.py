"""The service broker with real clients and workers, in processes of their own that are killed, held and started again.

What the broker decides is proved in `unit` and `property`, without a socket. Here the programs are those of a user: in
Python with our library, and in Node with nothing of ours.
"""
