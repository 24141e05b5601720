"""Rows of the wide log from columns of images: the values of the declared columns, and which of them did not travel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.tables import ROW_COLUMNS, ColumnType
from spark_jobs.sources.image_values import KINDS, Doubt, build_column_reader, flags
from spark_jobs.sources.layout_batch import LayoutBatch
from spark_jobs.sources.layouts import Example, Kind, Layout
from spark_jobs.sources.placeholders import texts_of

if TYPE_CHECKING:
    import pyarrow


class WideColumns:
    """Reads the rows of a layout; ``example`` is the record that it was learnt from."""

    def __init__(self, spec: LakeSpec, example: Example) -> None:
        self._spec, self._example = spec, example
        self._columns = {column.source: column for column in spec.source.columns}
        key = spec.columns_by_name.get(spec.source.key)
        self._key = key.source if key else ""

    def expected(self, name: str) -> Kind | None:
        """What the values of a column usually are; None for one that is not declared."""
        return KINDS[self._columns[name].type] if name in self._columns else None

    def fit(self, layout: Layout) -> bool:
        """Prepare to read a layout; False for one with columns that are not declared, or without the key."""
        names = {*layout.before, *layout.after}
        if not names <= self._columns.keys() or self._key not in layout.after:
            return False
        connector, schema = layout.table.connector, layout.schema
        self._readers = {
            name: build_column_reader(self._columns[name], kind, connector, schema)
            for name, kind in layout.after.items()
        }
        self._unknown = [column.name for column in self._spec.source.columns if column.source not in layout.after]
        return True

    def read(self, batch: LayoutBatch) -> dict[str, pyarrow.Array]:
        """The columns of the rows; marks in the batch which rows are in doubt."""
        import pyarrow as pa

        images, doubt, count = batch.images, batch.doubt, len(batch.records)
        self._check(images, doubt)
        columns = {self._columns[name].name: read(images[name], doubt) for name, read in self._readers.items()}
        if self._spec.has_row_columns and self._unknown:
            unknown = pa.scalar(self._unknown, pa.list_(pa.string()))
            columns[ROW_COLUMNS[-1]] = pa.repeat(unknown, count)
        return columns

    def _check(self, images: dict[str, Any], doubt: Doubt) -> None:
        """Doubt where a row has no key, and where a value may stand for one that did not travel."""
        import pyarrow as pa
        import pyarrow.compute as pc

        key = images[self._key]
        if key.null_count:
            doubt |= flags(pc.is_null(key))
        if self._columns[self._key].type is ColumnType.STRING and key.type == pa.string():
            doubt |= flags(pc.equal(key, ""))
        placeholder = self._spec.source.placeholder
        forms = texts_of(placeholder)
        shortest = min(len(form.encode()) for form in forms)
        for array in images.values():
            if array.type != pa.string() or (pc.max(pc.binary_length(array)).as_py() or 0) < shortest:
                continue
            doubt |= flags(pc.is_in(array, pa.array(sorted(forms))))
            doubt |= flags(pc.match_substring(array, placeholder))
