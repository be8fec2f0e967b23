"""The hub as tables of Spark: read and write topics, batch and streaming; the archive; the pipelines and their report.

A client of the hub like any other: it never imports the server's side. Importing this imports PySpark
(`pip install 'pregon[spark]'`), so nothing else of the package does.
"""

from pregon.spark.archive.table import system_table, table
from pregon.spark.session import session
from pregon.spark.shipping import ship

__all__ = ["session", "ship", "system_table", "table"]
