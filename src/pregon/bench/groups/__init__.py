"""Groups in causal order, measured: what order costs through the hub, what it adds to a message, what it costs to work
out, and what joining does to those who are there. Each is beside what it is compared with, in the same run.
"""
