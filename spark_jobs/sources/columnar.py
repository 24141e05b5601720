"""Records in usual forms to rows, column by column: what nearly all records of a batch go through.

Records are gathered by their layout (:mod:`spark_jobs.sources.layouts`) and become columns when the batch is full. It
decides about no record that is not certain: one that fits no layout, and each row that turns out to be in doubt, is
decoded by itself (:mod:`spark_jobs.sources.envelope`), so reasons and details of rejections come from one place.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.sources.envelope import EnvelopeDecoder
from spark_jobs.sources.layout_batch import RECORD, Gathered, LayoutBatch
from spark_jobs.sources.layouts import Layout, learn
from spark_jobs.sources.positions import identities_of, transactions_of
from spark_jobs.sources.records import MAX_RECORD_BYTES
from spark_jobs.sources.wide_columns import WideColumns

if TYPE_CHECKING:
    import pyarrow

_MOST_LAYOUTS = 200
_MOST_PLACES = 1_000
_TRIED = 4
"""Layouts that a record is tried with, the last one that fitted first."""
_FIRST_MISSES = 4
"""Records of a file or partition that fit no layout before the next one is learnt from; twice as many, each time."""


class _Place:
    """Of a file or partition: the layouts that its records had, and how many fitted none."""

    def __init__(self, groups: list[Group]) -> None:
        self.groups, self.misses, self.next_lesson = groups[:_TRIED], 0, _FIRST_MISSES


class Group:
    """Records of one layout, each with its envelope and how many colons it has, until they become columns."""

    def __init__(self, layout: Layout, columns: WideColumns) -> None:
        self.layout, self.columns = layout, columns
        self.gathered: list[tuple[Gathered, Any, int]] = []


class ColumnarDecoder:
    """Gathers records whose layout is known; learns layouts from those that ``decoder`` has decoded."""

    def __init__(self, spec: LakeSpec, decoder: EnvelopeDecoder) -> None:
        import msgspec

        self._spec, self._decoder = spec, decoder
        self._errors = (msgspec.MsgspecError, ValueError, RecursionError)
        self._groups: list[Group] = []
        self._places: dict[str, _Place] = {}
        self.gathered = 0

    def take(self, gathered: Gathered) -> bool:
        """Gather a record; False when no layout is known for it."""
        path, _, line, _, _ = gathered
        place = self._places.get(path) or self._add_place(path)
        for group in place.groups:
            layout, content = group.layout, line
            if layout.prefix:
                if not line.startswith(layout.prefix) or not line.endswith(b"}"):
                    continue
                content = line[len(layout.prefix) : -1]
            try:
                envelope = layout.decode(content)
            except self._errors:
                continue
            if b"\\u" in content or len(line) > MAX_RECORD_BYTES:  # what is written by its number escapes counting
                return False
            group.gathered.append((gathered, envelope, content.count(b":")))
            self.gathered += 1
            if group is not place.groups[0]:
                place.groups.remove(group)
                place.groups.insert(0, group)
            return True
        return False

    def learn(self, path: str, line: bytes) -> None:
        """Note that a record was decoded by itself, and learn from one of several."""
        place = self._places.get(path) or self._add_place(path)
        place.misses += 1
        if place.misses < place.next_lesson or len(self._groups) >= _MOST_LAYOUTS:
            return
        place.next_lesson = 2 * place.misses
        if group := next((each for each in self._groups if self._fits(each, line)), None):
            place.groups = [group, *(each for each in place.groups if each is not group)][:_TRIED]
            return
        example = self._decoder.example(line)
        if example is None or example.table.reader:
            return
        columns = WideColumns(self._spec, example)
        layout = learn(example, columns.expected)
        if layout and columns.fit(layout):
            group = Group(layout, columns)
            self._groups.insert(0, group)
            place.groups = [group, *place.groups][:_TRIED]
            place.next_lesson = place.misses + _FIRST_MISSES

    def _fits(self, group: Group, line: bytes) -> bool:
        content = group.layout.content_of(line)
        try:
            return content is not None and group.layout.decode(content) is not None
        except self._errors:
            return False

    def flush(self) -> tuple[list[dict[str, pyarrow.Array]], list[Gathered]]:
        """The columns of what was gathered, a part for each layout, and the records that are to be decoded singly."""
        parts, doubtful = list[dict[str, Any]](), list[Gathered]()
        with _without_collector():
            for group in self._groups:
                if group.gathered:
                    part, rest = self._columns_of(group)
                    parts += [part] if part else []
                    doubtful += rest
                    group.gathered = []
        self.gathered = 0
        return parts, doubtful

    def _add_place(self, path: str) -> _Place:
        if len(self._places) >= _MOST_PLACES:
            self._places.clear()
        self._places[path] = place = _Place(self._groups)
        return place

    def _columns_of(self, group: Group) -> tuple[dict[str, Any], list[Gathered]]:
        batch = LayoutBatch(group.layout, group.gathered)
        if not batch.records:
            return {}, batch.left_out
        columns = {**group.columns.read(batch), **self._placed(batch)}
        doubtful = [record for record, is_doubtful in zip(batch.records, batch.doubt, strict=True) if is_doubtful]
        if doubtful:
            columns = {name: array.filter(batch.certain) for name, array in columns.items()}
        return columns, [*batch.left_out, *doubtful]

    def _placed(self, batch: LayoutBatch) -> dict[str, Any]:
        """What an event's place in the order of its source is, and all that follows from it."""
        import pyarrow as pa
        import pyarrow.compute as pc

        table, count, text = batch.layout.table, len(batch.records), pa.string()
        of, origin, blocks = table.of, table.origin, batch.blocks
        places, marks = self._decoder.places_of(table, blocks, count)
        for at, place in enumerate(places):
            if place is None:
                batch.doubt[at] = True
        orders = pa.array([f"{place}-{tie}" for place, tie in zip(places, batch.ties(), strict=True)], text)
        paths, offsets, _, _, records = zip(*batch.records, strict=True)
        times = pa.array(blocks["ts_ms"], pa.timestamp("ms", tz="UTC"))
        hashes = [record[0] for record in records if record]
        return {
            "event_id": pc.binary_join_element_wise(origin.id_start, orders, origin.id_end, ""),
            "op": batch.ops,
            "event_order": orders,
            "event_time": times.cast(pa.timestamp("us", tz="UTC")),
            "transaction_id": pa.array(transactions_of(blocks, of, count), text),
            "source_origin": pa.repeat(pa.scalar(origin.name), count),
            "source_mark": pa.array(marks, text),
            "source_identity": pa.array(identities_of(blocks, of, count), text),
            "read_from": pa.array(paths, text),
            "read_offset": pa.array(offsets, pa.int64()),
            **({RECORD: pa.array(hashes, text)} if hashes else {}),
        }


@contextmanager
def _without_collector() -> Iterator[None]:
    """Python's collector looks again and again at the many tuples that become columns; none of them is in a circle."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
