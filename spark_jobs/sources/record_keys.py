"""The key columns of a table by the key of a record: a struct of them, with or without its schema.

Debezium gives it to messages, sinks of Kafka Connect write it beside the envelope, and a snapshot has it from the
database's catalog.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_MOST_BYTES = 64 * 1024
_OF_DEBEZIUM = "__dbz__"
"""Fields that Debezium's routing adds to keys; no table has such a column."""


def _parse(key: bytes) -> Any:
    """What the bytes of a key say; None when that is no JSON."""
    if not key or len(key) > _MOST_BYTES:
        return None
    try:
        return json.loads(key)
    except (ValueError, RecursionError):
        return None


def key_columns(key: bytes | Mapping[str, Any], image: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Names of the columns that a record's key has, as bytes or parsed, in their order there.

    None when it does not say: keys that are no JSON or no struct, and keys with something that the row, whose ``image``
    is given, does not have.
    """
    content = _parse(key) if isinstance(key, bytes) else key
    if isinstance(content, dict) and isinstance(content.get("schema"), dict) and "payload" in content:
        content = content["payload"]
    if not isinstance(content, dict):
        return None
    names = tuple(name for name in content if not name.startswith(_OF_DEBEZIUM))
    return names if names and all(image.get(name) is not None for name in names) else None
