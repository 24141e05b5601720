"""Decoded records gathered until they leave as one Arrow batch: rows one by one, and columns of many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow

_AT_A_PLACE = "read_from"
"""The first column that rejected records have too."""


class DecodedRows:
    """Rows of these fields, names with Arrow's types."""

    def __init__(self, fields: Sequence[tuple[str, Any]]) -> None:
        import pyarrow as pa

        self._arrow, self._schema = pa, pa.schema(fields)
        self._padding = (None,) * self._schema.get_field_index(_AT_A_PLACE)
        self._rows: list[tuple[Any, ...]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def append(self, row: tuple[Any, ...]) -> None:
        """Add a row."""
        self._rows.append(row)

    def reject(self, path: str, offset: int, reason: str, detail: str, raw: bytes, *record: str) -> None:
        """Add a record that cannot be used as it is."""
        self._rows.append((*self._padding, path, offset, str(reason), detail, raw, *record))

    def flush(self, parts: Sequence[Mapping[str, pyarrow.Array]]) -> pyarrow.RecordBatch:
        """A batch of the rows, after those that are columns already: what these lack is null."""
        batches = [self._batch_of(part) for part in parts]
        batches += [self._batch()] if self._rows or not parts else []
        return batches[0] if len(batches) == 1 else self._arrow.concat_batches(batches)

    def _batch_of(self, columns: Mapping[str, pyarrow.Array]) -> pyarrow.RecordBatch:
        count = len(columns[_AT_A_PLACE])
        arrays = [
            columns[field.name] if field.name in columns else self._arrow.nulls(count, field.type)
            for field in self._schema
        ]
        return self._arrow.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _batch(self) -> pyarrow.RecordBatch:
        columns = list(zip(*self._rows, strict=True)) if self._rows else [()] * len(self._schema)
        self._rows = []
        arrays = [
            self._arrow.array(values, type=field.type) for values, field in zip(columns, self._schema, strict=True)
        ]
        return self._arrow.RecordBatch.from_arrays(arrays, schema=self._schema)
