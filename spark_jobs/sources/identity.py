"""What distinguishes changes that share a place in their source's order: a hash of op and row images without nulls.

The hash is of JSON text: ``["u",[[["UnitId","3"],…],[["UnitId","4"],…]]]``, every value as text, names in order. Rows
are stored under it: it must never be another one for the same change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from json.encoder import encode_basestring_ascii
from operator import itemgetter
from typing import Any

_MOST_SHAPES = 1_000
_Shape = tuple[Callable[[dict[str, Any]], tuple[Any, ...]], str]
_shapes: dict[tuple[str, ...], _Shape] = {}
"""Of names of an image, in the order in which they came: what picks their values in order, and the text around them.

A table's rows have few of them, and making the text again for each row would take longer than all the rest.
"""


def tie_of(op: str, before: Any, after: Any) -> str:
    """Sixteen hexadecimal digits; ``op`` is one of those that are changes of a row."""
    text = f'["{op}",[{_image_text(before)},{_image_text(after)}]]'
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _image_text(image: Any) -> str:
    if not isinstance(image, dict):
        return "null"
    known = {name: value for name, value in image.items() if value is not None}
    if not known:
        return "[]"
    names = tuple(known)
    pick, text = _shapes.get(names) or _add_shape(names)
    return text % tuple(map(encode_basestring_ascii, map(str, pick(known))))


def _add_shape(names: tuple[str, ...]) -> _Shape:
    if len(_shapes) >= _MOST_SHAPES:
        _shapes.clear()
    ordered = sorted(names)
    pairs = ",".join(f"[{encode_basestring_ascii(name).replace('%', '%%')},%s]" for name in ordered)
    first = ordered[0]
    pick = itemgetter(*ordered) if len(ordered) > 1 else lambda known: (known[first],)
    _shapes[names] = pick, f"[{pairs}]"
    return _shapes[names]
