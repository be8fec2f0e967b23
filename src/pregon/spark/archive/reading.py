"""Files of an archive as a table of Spark: read by its own Parquet reader, which skips what a filter does not want."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DateType, StructField, StructType

from pregon.spark.archive.commits import File
from pregon.spark.archive.layout import DATE, Kept, data_folder
from pregon.spark.schemas import schema_of


def read_files(spark: SparkSession, root: str, kept: Kept, files: Sequence[File]) -> DataFrame:
    """The rows of some files, with the column `date` of their folders."""
    schema = StructType([*schema_of(kept.table).fields, StructField(DATE, DateType())])
    if not files:
        return spark.createDataFrame([], schema)
    address = f"{root}/{data_folder(kept)}"
    # Exactly these: what else lies in the folders is in no commit.
    paths = [f"{address}/{file.path}" for file in files]
    return spark.read.schema(schema).option("basePath", address).parquet(*paths)
