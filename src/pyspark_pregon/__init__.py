"""What PySpark finds by itself: every module `pyspark_*` on the path with a `DefaultSource` is a format by its name.

So `spark.read.format("pregon")` works wherever `pregon[spark]` is installed, with nothing to register.
"""

from pregon.spark.source import PregonSource as DefaultSource

__all__ = ["DefaultSource"]
