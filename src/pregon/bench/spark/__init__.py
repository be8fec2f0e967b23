"""Spark on the hub, measured: reading beside native Parquet and beside a source of rows, streaming, writing back, the
pipelines as they grow, and what all that costs those who publish. Each beside what it is compared with, in one run.
"""
