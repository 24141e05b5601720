"""Rows of a table as Debezium's envelopes: op ``r``, with the schema that says what each value is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spark_jobs.connectors.values import JdbcColumn, to_json


class EnvelopeBuilder:
    """Builds the envelopes of one table, and the keys of their records.

    Args:
        columns: those that are read, in the order of the values.
        source: the source block, with the position that all rows of a snapshot share.
        key: the columns of the table's primary key; one that is not read makes a key that no row has.
    """

    def __init__(self, columns: Sequence[JdbcColumn], source: Mapping[str, Any], *, key: Sequence[str] = ()) -> None:
        self._columns = tuple(columns)
        places = {column.name: place for place, column in enumerate(columns)}
        self._key = [(name, places.get(name)) for name in key]
        row = {"type": "struct", "optional": True, "field": "after", "fields": [column.field for column in columns]}
        schema = {"type": "struct", "optional": False, "fields": [row]}
        self._before = f'{{"schema":{to_json(schema)},"payload":{{"before":null,"after":'
        self._behind = f',"source":{to_json(dict(source))},"op":"r","ts_ms":{to_json(source["ts_ms"])}}}}}'

    def build(self, values: Sequence[str | None]) -> bytes:
        """The envelope of a row, from the texts that the database gave."""
        after = {each.name: each.event_value(text) for each, text in zip(self._columns, values, strict=True)}
        return f"{self._before}{to_json(after)}{self._behind}".encode()

    def build_key(self, values: Sequence[str | None]) -> bytes:
        """The key of a row's record, as a connector gives it to a message; empty where the table has none."""
        if not self._key:
            return b""
        key = {name: None if at is None else self._columns[at].event_value(values[at]) for name, at in self._key}
        return to_json(key).encode()
