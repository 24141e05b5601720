"""What distinguishes changes that share a place in their source's order: a hash of op and row images without nulls.

The hash is of JSON text: ``["u",[[["UnitId","3"],…],[["UnitId","4"],…]]]``, every value as text, names in order. Rows
are stored under it: it must never be another one for the same change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from json.encoder import encode_basestring_ascii
from operator import itemgetter
from typing import Any

_MOST_SHAPES = 1_000
_MOST_TEXT = 50_000
"""Of the names of one shape that is kept."""
_WRITTEN_AS_THEY_ARE = frozenset({str, int, bool, Decimal, type(None)})
_NONE: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shape:
    """What images have in common whose columns have the same names, in the same order, and values of the same types.

    Making it again for each row would take longer than all the rest: a table's rows have few of them.

    Attributes:
        types: of the values, by name.
        texts: picks the values that are text.
        known: picks the values that are not null, in the order of their names.
        plain: the text of an image, with ``%s`` for each of these values, for those of which none has to be escaped;
            "" where there may be lists or objects.
        escaped: the same for texts that are JSON already, or for all values where there may be lists or objects.
    """

    types: Mapping[str, type]
    texts: Callable[[dict[str, Any]], tuple[Any, ...]]
    known: Callable[[dict[str, Any]], tuple[Any, ...]]
    plain: str
    escaped: str


Look = tuple[Shape, tuple[str, ...], str]
"""An image's shape, its values that are text, and these in one."""
_shapes: dict[tuple[tuple[str, ...], tuple[type, ...]], Shape] = {}


def look_at(image: dict[str, Any]) -> Look:
    """What is known of an image by the names and types in it."""
    key = tuple(image), tuple(map(type, image.values()))
    shape = _shapes.get(key) or _add_shape(*key)
    texts = shape.texts(image)
    return shape, texts, "".join(texts)


def tie_of(op: str, before: tuple[Any, Look | None], after: tuple[Any, Look | None]) -> str:
    """Sixteen hexadecimal digits; ``op`` is one of those that are changes of a row.

    Each image comes with its look; those that are no objects have none.
    """
    text = f'["{op}",[{_image_text(*before)},{_image_text(*after)}]]'
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _image_text(image: Any, look: Look | None) -> str:
    if look is None:
        return "null"
    shape, _, joined = look
    known = shape.known(image)
    if not shape.plain:
        return shape.escaped % tuple(map(encode_basestring_ascii, map(str, known)))
    if joined.isascii() and joined.isprintable() and '"' not in joined and "\\" not in joined:
        return shape.plain % known
    return shape.escaped % tuple([encode_basestring_ascii(value) if type(value) is str else value for value in known])


def _add_shape(names: tuple[str, ...], types: tuple[type, ...]) -> Shape:
    by_name = dict(zip(names, types, strict=True))
    known = sorted(name for name, type_ in by_name.items() if type_ is not type(None))
    encoded = [encode_basestring_ascii(name).replace("%", "%%") for name in known]
    is_plain = {*types} <= _WRITTEN_AS_THEY_ARE
    shape = Shape(
        types=by_name,
        texts=_picker([name for name in known if by_name[name] is str]),
        known=_picker(known),
        plain=_text_of(encoded, ['"%s"'] * len(known)) if is_plain else "",
        escaped=_text_of(encoded, ["%s" if by_name[name] is str or not is_plain else '"%s"' for name in known]),
    )
    if len(shape.escaped) <= _MOST_TEXT:
        if len(_shapes) >= _MOST_SHAPES:
            _shapes.clear()
        _shapes[names, types] = shape
    return shape


def _text_of(names: list[str], values: list[str]) -> str:
    return f"[{','.join(f'[{name},{value}]' for name, value in zip(names, values, strict=True))}]"


def _picker(names: list[str]) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    """What picks the values of these names."""
    if len(names) > 1:
        return itemgetter(*names)
    if names:
        first = names[0]
        return lambda image: (image[first],)
    return lambda image: _NONE
