"""Row images of one layout, column by column: their values, and the text of the hash that distinguishes changes.

The text is that of :mod:`spark_jobs.sources.identity`, put together for all rows at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, Any

from spark_jobs.sources.layouts import Kind, Kinds

if TYPE_CHECKING:
    import pyarrow

_PLAIN = bytes(code for code in range(0x20, 0x7F) if chr(code) not in '"\\')
"""Characters that JSON has as they are."""


class ImageColumns:
    """Some images, whose values are tuples in the order of ``kinds``."""

    def __init__(self, kinds: Kinds, images: Sequence[tuple[Any, ...]]) -> None:
        import pyarrow as pa

        types = {Kind.WHOLE: pa.int64(), Kind.TEXT: pa.string(), Kind.TRUTH: pa.bool_()}
        values = zip(*images, strict=True) if images else [()] * len(kinds)
        self.kinds, self._count = kinds, len(images)
        self.arrays: dict[str, pyarrow.Array] = {
            name: pa.array(column, types[kind]) for (name, kind), column in zip(kinds.items(), values, strict=True)
        }

    def texts(self) -> pyarrow.Array:
        """``[["AgentId","5"],…]`` of each: what is not null as text, by name."""
        import pyarrow as pa
        import pyarrow.compute as pc

        parts, run = list[Any](), list[Any]()  # columns without a null are put together at once
        for name in sorted(self.kinds):
            array = self.arrays[name]
            if array.null_count == self._count:
                continue
            begin, text = f'[{encode_basestring_ascii(name)},"', _text_of(array)
            if array.null_count:
                parts += [_joined(run), _joined([begin, text, '"]'])] if run else [_joined([begin, text, '"]'])]
                run = []
            else:
                run += [f"{',' if run else ''}{begin}", text, '"]']
        parts += [_joined(run)] if run else []
        if not parts:
            return pa.repeat(pa.scalar("[]"), self._count)
        return _joined(["[", pc.binary_join_element_wise(*parts, ",", null_handling="skip"), "]"])


def _joined(parts: Sequence[Any]) -> Any:
    """Texts and arrays of texts, one after another; null where one of them is."""
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(*parts, "")


def _text_of(array: Any) -> Any:
    """The text of values as the hash has them, without the quotes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if array.type == pa.bool_():
        return pc.if_else(array, "True", "False")
    if array.type != pa.string():
        return array.cast(pa.string())
    content = array.buffers()[2]
    if content is None or not bytes(content).translate(None, _PLAIN):
        return array
    coded = array.dictionary_encode()
    escaped = [encode_basestring_ascii(text)[1:-1] for text in coded.dictionary.to_pylist()]
    return pa.array(escaped, pa.string()).take(coded.indices)
