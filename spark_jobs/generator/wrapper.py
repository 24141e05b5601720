"""The ``schema``/``payload`` wrapper that JsonConverter adds with ``schemas.enable=true``."""

from __future__ import annotations

from typing import Any

from spark_jobs.generator.envelope import encode
from spark_jobs.generator.events import BASE_COLUMNS, CUSTOMER_COLUMNS

_TIMES = ("ts_ms", "ts_us", "ts_ns")


def _field(field: str, kind: str, *, optional: bool = True, **more: Any) -> dict[str, Any]:
    return {"type": kind, "optional": optional, **more, "field": field}


def _column(name: str) -> dict[str, Any]:
    if name == "ContractSigningDate":
        return _field(name, "int64", name="io.debezium.time.Timestamp", version=1)
    if name.endswith("Id"):
        return _field(name, "int64", optional=name != "SaleId")
    return _field(name, "string")


def _source() -> dict[str, Any]:
    allowed = "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"
    enum: dict[str, Any] = {"name": "io.debezium.data.Enum", "version": 1, "parameters": {"allowed": allowed}}
    fields = [_field(name, "string", optional=False) for name in ("version", "connector", "name")]
    fields += [_field("ts_ms", "int64", optional=False), _field("snapshot", "string", **enum, default="false")]
    fields += [_field("db", "string", optional=False), _field("sequence", "string")]
    fields += [_field("ts_us", "int64"), _field("ts_ns", "int64")]
    fields += [_field(name, "string", optional=False) for name in ("schema", "table")]
    fields += [_field("change_lsn", "string"), _field("commit_lsn", "string"), _field("event_serial_no", "int64")]
    name = "io.debezium.connector.sqlserver.Source"
    return _field("source", "struct", optional=False, name=name, version=1, fields=fields)


def _transaction() -> dict[str, Any]:
    fields = [_field("id", "string", optional=False)]
    fields += [_field(name, "int64", optional=False) for name in ("total_order", "data_collection_order")]
    return _field("transaction", "struct", name="event.block", version=1, fields=fields)


def _schema(columns: tuple[str, ...]) -> dict[str, Any]:
    value: dict[str, Any] = {"name": "erp.dbo.SALES.Value", "fields": [_column(name) for name in columns]}
    fields = [_field("before", "struct", **value), _field("after", "struct", **value), _source(), _transaction()]
    fields += [_field("op", "string", optional=False), *(_field(name, "int64") for name in _TIMES)]
    return {"type": "struct", "optional": False, "name": "erp.dbo.SALES.Envelope", "version": 2, "fields": fields}


_SCHEMAS = {False: encode(_schema(BASE_COLUMNS)), True: encode(_schema(BASE_COLUMNS + CUSTOMER_COLUMNS))}


def wrap(payload: str, *, has_customer_columns: bool) -> str:
    """The record with its schema before it."""
    return f'{{"schema":{_SCHEMAS[has_customer_columns]},"payload":{payload}}}'
