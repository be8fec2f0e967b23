"""A disk that loses what was not synced, for tests that cut the power.

`shim.c` writes down what real processes do to a directory and `disk` rebuilds that directory as a power cut
would have left it. What must still be true in it afterwards is for the scenarios to say.
"""
