"""What ours is compared with: a Python source that yields rows, as most do; the same hub, the same bytes on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from pregon.spark.batch_reader import BatchReader
from pregon.spark.options import read_options
from pregon.spark.schemas import MESSAGES, schema_of


class RowSource(DataSource):
    """The messages of topics, a tuple each."""

    @classmethod
    def name(cls) -> str:
        """What it is called in `format(…)`."""
        return "pregon_rows"

    def schema(self) -> StructType:
        """The columns of messages."""
        return schema_of(MESSAGES)

    def reader(self, schema: StructType) -> DataSourceReader:
        """For `spark.read`."""
        return _RowReader(BatchReader(read_options(self.options), schema))


class _RowReader(DataSourceReader):
    def __init__(self, reader: BatchReader) -> None:
        self._reader = reader

    def partitions(self) -> list[InputPartition]:
        """As ours."""
        return self._reader.partitions()

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Each message as a tuple."""
        for batch in self._reader.read(partition):
            columns = [column.to_pylist() for column in batch.columns]
            maps = batch.schema.get_field_index("headers")
            columns[maps] = [dict(pairs) for pairs in columns[maps]]
            yield from zip(*columns, strict=True)
