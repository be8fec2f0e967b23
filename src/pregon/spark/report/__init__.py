"""The report: one page for people, made of the figures that the steps left, and the same figures for programs.

It asks no hub and starts no Spark: what it needs is in the folder of the results.
"""
