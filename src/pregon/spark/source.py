"""`format("pregon")`: topics and the hub's own tables, read and written, batch and streaming."""

from __future__ import annotations

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
)
from pyspark.sql.types import StructType

from pregon.errors import SettingsInvalid
from pregon.spark.batch_reader import BatchReader
from pregon.spark.options import read_options
from pregon.spark.schemas import schema_of
from pregon.spark.stream_reader import StreamReader
from pregon.spark.writer import BatchWriter, StreamWriter

FORMAT = "pregon"


class PregonSource(DataSource):
    """What Spark makes for each query."""

    @classmethod
    def name(cls) -> str:
        """What it is called in `format(…)`."""
        return FORMAT

    def schema(self) -> StructType:
        """The columns of the table, or those that the option `columns` names; `.schema(…)` may say fewer too."""
        options = read_options(self.options)
        known = schema_of(options.table)
        return StructType([known[name] for name in options.columns]) if options.columns else known

    def reader(self, schema: StructType) -> DataSourceReader:
        """For `spark.read`."""
        return BatchReader(read_options(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """For `spark.readStream`."""
        return StreamReader(read_options(self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """For `df.write`."""
        _require_append(overwrite)
        return BatchWriter(read_options(self.options), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        """For `df.writeStream`."""
        _require_append(overwrite)
        return StreamWriter(read_options(self.options), schema)


def _require_append(overwrite: bool) -> None:
    if overwrite:
        raise SettingsInvalid('a topic is a log and cannot be overwritten: use mode("append")')
