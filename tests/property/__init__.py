"""Random histories and random values against plain models of what should happen (Hypothesis).

`model` says in lists and sets what the hub says in cursors and batches. Named facts about single cases are
left to the other suites.
"""
