"""What a connector sends in place of a value that it does not have: a large one that did not change.

PostgreSQL keeps large values apart (TOAST) and does not write them to its log again when a row changes elsewhere;
Oracle does the same with its large objects. Debezium then sends a placeholder in the form that the column's type takes
(``UnchangedToastedPlaceholder`` and ``PostgresValueConverter`` of its PostgreSQL connector):

| at the source | in the record |
|---|---|
| text, json, jsonb, xml, numeric as text, bytea as base64 or hex | the placeholder itself |
| bytea as bytes; include.unknown.datatypes | its bytes in base64, as Connect's JSON has bytes; in hex |
| text[], varchar[], char[], json[], jsonb[] | an array of it alone |
| bytea[] | an array of its bytes alone |
| int[], bigint[], date[]; in later versions every array of numbers | its bytes, one number each |
| uuid[] | an array of the UUID that is made of it |
| hstore | a map of it to itself, or the text of one |

None of these is a value. The placeholder is ``__debezium_unavailable_value`` unless the connector's
``unavailable.value.placeholder`` says otherwise.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import uuid
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

from spark_jobs.lake_spec.tables import PLACEHOLDER

Detector = Callable[[Any], bool]
"""True for a value of a record that replaces one that did not travel."""
Screen = Callable[[str, tuple[str, ...]], bool]
"""False when none of some texts, given in one and one by one, can be a placeholder."""
_NUMBERS = (int, float, Decimal)
_WHOLE = re.compile(r"-?[0-9]{1,3}(\.0{1,40})?")


@cache
def build_detector(placeholder: str = PLACEHOLDER) -> Detector:
    """Recognises a connector's placeholder in each of its forms."""
    content = placeholder.encode()
    texts = frozenset({placeholder, *_encoded(content)})
    named = _uuid_of(content)
    as_map = {placeholder: placeholder}
    elements = texts | {named}
    numbers = [Decimal(byte if byte < 128 else byte - 256) for byte in content]

    def is_placeholder(value: Any) -> bool:
        if isinstance(value, str):
            if value in texts:
                return True
            # The map as text: compared as a map, because blanks in it mean nothing.
            return placeholder in value and value.lstrip().startswith("{") and _read(value) == as_map
        if isinstance(value, list):
            if len(value) == 1 and isinstance(value[0], str):
                return value[0] in elements or value[0].lower() == named
            return len(value) == len(numbers) and [_number(each) for each in value] == numbers
        return isinstance(value, dict) and value == as_map

    return is_placeholder


@cache
def build_screen(placeholder: str = PLACEHOLDER) -> Screen:
    """Passes texts that are values for certain, all of a row at once; others are for the detector."""
    forms = texts_of(placeholder)
    return lambda joined, texts: placeholder in joined or not forms.isdisjoint(texts)


@cache
def texts_of(placeholder: str = PLACEHOLDER) -> frozenset[str]:
    """The texts that are a placeholder; others are only when they have the first form in them."""
    return frozenset({placeholder, *_encoded(placeholder.encode())})


def _encoded(content: bytes) -> tuple[str, ...]:
    """The bytes as text, as converters and handling modes of binary columns write them."""
    normal, safe = base64.b64encode(content).decode(), base64.urlsafe_b64encode(content).decode()
    return normal, safe, normal.rstrip("="), safe.rstrip("="), content.hex(), content.hex().upper()


def _uuid_of(content: bytes) -> str:
    """Java's ``UUID.nameUUIDFromBytes``: version 3 without a name space."""
    return str(uuid.UUID(bytes=hashlib.md5(content, usedforsecurity=False).digest(), version=3))


def _number(value: Any) -> Decimal | None:
    """The number of an element, which is text where numbers travel as text; None for what is no whole number."""
    if isinstance(value, str):
        return Decimal(value) if _WHOLE.fullmatch(value) else None
    return Decimal(value) if isinstance(value, _NUMBERS) and not isinstance(value, bool) else None


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
