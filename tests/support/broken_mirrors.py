"""Events of mirrored tables that cannot be used, with the reason that the quarantine must have."""

from __future__ import annotations

from typing import Any

from tests.support.mirrors import TYPES, change, decimal_field, line_of, packed

UNREADABLE: list[tuple[dict[str, Any], Any, str]] = [
    ({"type": "int8"}, "x", "bad_integer"),
    ({"type": "int32"}, 2**31, "bad_integer"),
    ({"type": "int32"}, True, "bad_integer"),
    ({"type": "int32"}, 1.5, "bad_integer"),
    ({"type": "int64"}, 2**63, "bad_integer"),
    ({"type": "int64"}, [1], "bad_integer"),
    ({"type": "boolean"}, 1, "bad_boolean"),
    ({"type": "boolean"}, "true", "bad_boolean"),
    ({"type": "double"}, "1.5", "bad_decimal"),
    ({"type": "double"}, False, "bad_decimal"),
    ({"type": "string"}, 7, "bad_text"),
    ({"type": "string"}, {"a": 1}, "bad_text"),
    ({"type": "bytes"}, "not base64!", "bad_text"),
    ({"type": "bytes"}, 7, "bad_text"),
    ({"type": "int32", "name": "io.debezium.time.Date"}, "2026-01-01", "bad_integer"),
    ({"type": "int64", "name": "io.debezium.time.MicroTimestamp"}, "now", "bad_timestamp"),
    ({"type": "int64", "name": "io.debezium.time.MicroTimestamp"}, 2**62, "bad_timestamp"),
    ({"type": "int64", "name": "io.debezium.time.Timestamp"}, -(10**17), "bad_timestamp"),
    ({"type": "string", "name": "io.debezium.time.ZonedTimestamp"}, "2026-01-01T00:00:00", "bad_timestamp"),
    ({"type": "string", "name": "io.debezium.time.ZonedTimestamp"}, "infinity", "bad_timestamp"),
    ({"type": "string", "name": "io.debezium.time.ZonedTimestamp"}, 5, "bad_timestamp"),
    ({"type": "int64", "name": "io.debezium.time.MicroTime"}, -1, "bad_timestamp"),
    ({"type": "int64", "name": "io.debezium.time.MicroTime"}, 10**12, "bad_timestamp"),
    (decimal_field(4, 2), packed(10_000), "bad_decimal"),
    (decimal_field(4, 2), "***", "bad_decimal"),
    (decimal_field(4, 2), 1.5, "bad_decimal"),
    ({"type": "struct", "name": "io.debezium.data.VariableScaleDecimal"}, "x", "bad_decimal"),
    (
        {"type": "struct", "name": "io.debezium.data.VariableScaleDecimal"},
        {"scale": "a", "value": ""},
        "bad_decimal",
    ),
    ({**decimal_field(4, 2), "parameters": {"scale": "x"}}, packed(1), "not_an_envelope"),
]
"""Field of a Connect schema, a value that is none of it, and the reason."""


def every_broken_change(table: str, first_key: int) -> dict[bytes, str]:
    """One event of each kind, with its reason: values that cannot be read, keys and images that are missing."""
    broken: dict[bytes, str] = {}
    for number, (field, value, reason) in enumerate(UNREADABLE):
        key = first_key + number
        fields = {"id": TYPES["bigint"], f"odd_{number}": field}
        broken[line_of(change("c", table, {"id": key, f"odd_{number}": value}, key, fields=fields))] = reason
    key = first_key + len(UNREADABLE)
    good = change("c", table, {"id": key}, key)
    broken |= {
        line_of(change("c", table, {"name": f"no key {key}"}, key)): "missing_key",
        line_of(change("d", table, {"id": None, "name": f"null key {key}"}, key)): "missing_key",
        line_of({**good, "op": "x"}): "unknown_op",
        line_of({**good, "op": "t"}): "truncate",
        line_of({**good, "after": None}): "null_payload",
        line_of({**good, "source": {**good["source"], "lsn": "first"}}): "missing_position",
        line_of(good)[:-20]: "not_json",
    }
    return broken
