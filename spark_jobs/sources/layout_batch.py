"""Records of one layout, gathered: their images as columns, the hash of each change, and which rows are in doubt."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from spark_jobs.sources.image_columns import ImageColumns
from spark_jobs.sources.layouts import Layout

if TYPE_CHECKING:
    import pyarrow

RECORD = "__record"
"""The hash of a record that is decoded once more; no source column can have such a name."""
_DELETE = "d"


Gathered = tuple[str, int, bytes, bytes, tuple[str, ...]]
"""Where a record was read, file and place; its bytes; the key of its message; the hash that it was given with."""


class LayoutBatch:
    """Some records, their envelopes as the layout reads them, and how many colons each has.

    Attributes:
        records: those that have the row image that counts.
        left_out: the others; and of layouts whose images differ, those that delete a row.
        sources: the values of their source blocks.
        images: by name, the values in the images that count.
        doubt: by record, whether it is to be decoded by itself.
    """

    def __init__(self, layout: Layout, gathered: Sequence[tuple[Gathered, Any, int]]) -> None:
        import numpy as np
        from msgspec.structs import astuple

        is_same = layout.before is layout.after
        has_image = [
            each.after is not None if each.op != _DELETE else is_same and each.before is not None
            for _, each, _ in gathered
        ]
        self.left_out = [each[0] for each, has in zip(gathered, has_image, strict=True) if not has]
        read = [each for each, has in zip(gathered, has_image, strict=True) if has] if self.left_out else gathered
        self.layout, self.records = layout, [record for record, _, _ in read]
        envelopes = [envelope for _, envelope, _ in read]
        self._ops = [each.op for each in envelopes]
        self.sources = [astuple(each.source) for each in envelopes]
        self._before = [None if each.before is None else astuple(each.before) for each in envelopes]
        self._after = [None if each.after is None else astuple(each.after) for each in envelopes]
        transactions = [each.transaction for each in envelopes] if layout.transaction_keys else [None] * len(read)
        self._transactions = [None if each is None else astuple(each) for each in transactions]
        self.doubt = np.zeros(len(read), dtype=bool)
        if read:
            self._read_images()
            self._count_colons(np.array([colons for _, _, colons in read]))

    @cached_property
    def blocks(self) -> dict[str, tuple[Any, ...]]:
        """The source blocks, by field."""
        return dict(zip(self.layout.source, zip(*self.sources, strict=True), strict=True))

    @cached_property
    def ops(self) -> pyarrow.Array:
        """The operations."""
        import pyarrow as pa

        return pa.array(self._ops, pa.string())

    @property
    def certain(self) -> pyarrow.Array:
        """A mask of the records that are not in doubt."""
        import pyarrow as pa

        return pa.array(~self.doubt)

    def ties(self) -> Iterator[str]:
        """What distinguishes each change from others in its place: :func:`spark_jobs.sources.identity.tie_of`."""
        import pyarrow as pa
        import pyarrow.compute as pc

        parts = ('["', self.ops, '",[', self._before_texts, ",", self._after_texts, "]]", "")
        texts = pc.binary_join_element_wise(*parts).cast(pa.binary())
        return (hashlib.sha256(text).hexdigest()[:16] for text in texts.to_pylist())

    def _read_images(self) -> None:
        import numpy as np
        import pyarrow as pa

        layout, count = self.layout, len(self.records)
        before = [image for image in self._before if image is not None]
        after = [image for image in self._after if image is not None]
        has_before, has_after = (np.array([image is not None for image in of]) for of in (self._before, self._after))
        before_at, after_at = np.cumsum(has_before) - 1, np.cumsum(has_after) - 1
        if layout.before is layout.after:
            columns = ImageColumns(layout.after, [*before, *after])
            texts = before_texts = columns.texts()
            after_at += len(before)
        else:
            columns = ImageColumns(layout.after, after)
            texts, before_texts = columns.texts(), ImageColumns(layout.before, before).texts()
        self._before_texts = before_texts.take(pa.array(before_at, mask=~has_before)).fill_null("null")
        self._after_texts = texts.take(pa.array(after_at, mask=~has_after)).fill_null("null")
        self.has_before, self.has_after = has_before, has_after
        if _DELETE not in self._ops:
            first = int(after_at[0])
            self.images = {name: array.slice(first, count) for name, array in columns.arrays.items()}
        else:
            counts = pa.array(np.where(np.array(self._ops) == _DELETE, before_at, after_at))
            self.images = {name: array.take(counts) for name, array in columns.arrays.items()}

    def _count_colons(self, colons: Any) -> None:
        """Doubt where there are more colons than those of keys and in texts: a key may have been given twice."""
        import numpy as np

        layout = self.layout
        left = colons - layout.keys - len(layout.before) * self.has_before - len(layout.after) * self.has_after
        if layout.transaction_keys:
            left -= layout.transaction_keys * np.array([each is not None for each in self._transactions])
        counted = set[int]()
        while odd := np.flatnonzero(left).tolist():
            fields = {at for at, value in enumerate(self.sources[odd[0]]) if type(value) is str and ":" in value}
            if fields <= counted:
                break
            for at in fields - counted:
                left -= np.array([str(values[at]).count(":") for values in self.sources])
            counted |= fields
        for at in odd:
            source = [value for place, value in enumerate(self.sources[at]) if place not in counted]
            parts = (source, self._before[at], self._after[at], self._transactions[at])
            texts = [value for part in parts for value in part or () if type(value) is str]
            self.doubt[at] = left[at] != sum(text.count(":") for text in texts)
