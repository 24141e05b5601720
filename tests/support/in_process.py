"""Python functions that Spark runs on its executors, run here on Arrow batches: no JVM starts.

What Spark itself does with the rows is tried elsewhere; this shows what the functions make of them, in less time than
a session takes to start, so that a property test can call them a hundred times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

Batches = Iterator[pa.RecordBatch]


class Frame:
    """Rows in partitions, as far as ``mapInArrow`` and the choice of columns go."""

    def __init__(self, partitions: Sequence[pa.Table]) -> None:
        self._partitions = partitions

    @classmethod
    def of(cls, *partitions: Iterable[Mapping[str, Any]], schema: pa.Schema) -> Frame:
        """From rows, a list of them for each partition."""
        return cls([pa.Table.from_pylist([*rows], schema=schema) for rows in partitions])

    def select(self, *names: str) -> Frame:
        return Frame([table.select([*names]) for table in self._partitions])

    def __getattr__(self, name: str) -> Callable[..., Frame]:
        if name == "mapInArrow":  # as Spark calls it
            return self._map_in_arrow
        raise AttributeError(name)

    def _map_in_arrow(self, function: Callable[[Iterable[pa.RecordBatch]], Batches], _schema: Any) -> Frame:
        """Each partition through the function, two rows a batch."""
        done = [[*function(iter(table.to_batches(max_chunksize=2)))] for table in self._partitions]
        return Frame([pa.Table.from_batches(batches) for batches in done if batches])

    def collect(self) -> list[dict[str, Any]]:
        """All rows, each by the names of its columns."""
        return [row for table in self._partitions for row in table.to_pylist()]

    @property
    def schema(self) -> pa.Schema:
        """The schema, from which functions derive that of their result."""
        return self._partitions[0].schema

    @property
    def partitions(self) -> tuple[pa.Table, ...]:
        """What there is, part by part."""
        return tuple(self._partitions)


def rows_of(frame: Any) -> list[dict[str, Any]]:
    """All rows of what a function of the product gave, which it calls a DataFrame."""
    assert isinstance(frame, Frame)
    return [row for table in frame.partitions for row in table.to_pylist()]


class Session:
    """Gives the ranges of numbers that tasks are made of."""

    def range(self, start: int, end: int, step: int, partitions: int) -> Frame:
        numbers = [range(start, end, step)[part::partitions] for part in range(partitions)]
        schema = pa.schema([("id", pa.int64())])
        return Frame.of(*([{"id": number} for number in part] for part in numbers), schema=schema)
