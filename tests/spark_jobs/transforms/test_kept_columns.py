"""Values that were kept before their column was declared, read as if it had been declared then.

What each text becomes is written down by hand: what ``ingest`` makes of the same value when the column is declared.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.lake_spec.tables import ColumnSpec, ColumnType, NumberUnit
from spark_jobs.lake_spec.undeclared_columns import KeptColumn
from spark_jobs.transforms.kept_columns import has_kept, kept_here, kept_value, with_kept
from tests.support.lakes import in_utc

pytestmark = pytest.mark.spark

WHOLE = ColumnSpec(name="c", source="C", type=ColumnType.BIGINT)
AMOUNT = ColumnSpec(name="c", source="C", type=ColumnType.DECIMAL, precision=6, scale=2)
TEXT = ColumnSpec(name="c", source="C", type=ColumnType.STRING, max_length=3)
FLAG = ColumnSpec(name="c", source="C", type=ColumnType.BOOLEAN)
UNITS = (("postgresql", NumberUnit.MICROSECONDS), ("db2", NumberUnit.NANOSECONDS), ("default", NumberUnit.MILLISECONDS))
MOMENT = ColumnSpec(name="c", source="C", type=ColumnType.TIMESTAMP, unit=UNITS)
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
NOON_MS = 1_767_355_200_000
VALUES: dict[ColumnSpec, list[tuple[str, str | None, Any]]] = {
    WHOLE: [
        ("x:bigint", "7", 7), ("x:int", "-7", -7), ("x:decimal(9,0)", "12", 12), ("x:string", "+9", 9),
        ("x:decimal(9,2)", "1.00", None), ("x:string", "7a", None), ("x:boolean", "true", None), ("x:date", "7", None),
        ("x:bigint", "9223372036854775807", 2**63 - 1), ("x:string", "9223372036854775808", None), ("x:", None, None),
    ],
    AMOUNT: [
        ("x:decimal(9,2)", "1.25", Decimal("1.25")), ("x:string", "1.2500", Decimal("1.25")),
        ("x:bigint", "7", Decimal("7.00")), ("x:string", "-.5", Decimal("-0.50")), ("x:string", "1.255", None),
        ("x:decimal(9,2)", "10000.00", None), ("x:double", "1.5", None), ("x:string", "1e2", None),
        ("x:string", ".", None), ("x:string", "", None), ("x:string", "0012.5", Decimal("12.50")),
    ],
    TEXT: [
        ("x:string", "abc", "abc"), ("x:string", "abcd", None), ("x:bigint", "12", "12"), ("x:boolean", "true", None),
        ("x:json", "{}", None), ("x:date", "7", None), ("x:too long", None, None),
    ],
    FLAG: [
        ("x:boolean", "true", True), ("x:boolean", "false", False), ("x:int", "1", True), ("x:bigint", "0", False),
        ("x:bigint", "2", None), ("x:string", "true", None),
    ],
    MOMENT: [
        ("sqlserver:bigint", str(NOON_MS), NOON), ("postgresql:bigint", str(NOON_MS * 1000), NOON),
        ("db2:bigint", str(NOON_MS * 10**6 + 999), NOON), ("x:timestamp", str(NOON_MS * 1000), NOON),
        ("x:date", "20455", datetime(2026, 1, 2, tzinfo=UTC)), ("x:string", "2026-01-02T12:00:00", NOON),
        ("x:string", "2026-01-02T13:00:00+01:00", NOON), ("x:string", "2026", None), ("x:string", "never", None),
        ("sqlserver:bigint", str(10**18), None), ("x:timestamp", str(2**63 - 1), None), ("x:boolean", "true", None),
    ],
}  # fmt: skip


@pytest.mark.parametrize("column", VALUES, ids=lambda column: column.type.value)
def test_a_kept_value_is_what_it_would_have_been(spark: SparkSession, column: ColumnSpec) -> None:
    rows = [({"C": type_}, {"C": text}) for type_, text, _ in VALUES[column]]
    schema = "row_types map<string,string>, row_values map<string,string>"
    found = spark.createDataFrame(rows, schema).select(kept_value(column).alias("c")).collect()
    values = [in_utc(row["c"]) if isinstance(row["c"], datetime) else row["c"] for row in found]
    assert values == [wanted for _, _, wanted in VALUES[column]]


def test_what_events_had_is_filled_and_what_they_had_not_is_not_known(spark: SparkSession) -> None:
    """Read on Monday before the column was declared, on Tuesday after it was."""
    monday, tuesday = (datetime(2026, 1, day, tzinfo=UTC) for day in (5, 6))
    rows = [
        ("kept", monday, None, {"C": "x:int", "D": "x:int"}, {"C": "7", "D": "9"}, None, None),
        ("absent", monday, None, {"D": "x:int"}, {"D": "9"}, ["b"], None),
        ("null", monday, None, {"C": "x:int"}, {"C": None}, None, None),
        ("unfit", monday, None, {"C": "x:json"}, {"C": "[]"}, None, None),
        ("nothing", monday, None, None, None, None, None),
        ("declared", tuesday, None, None, None, None, 5),
        ("set to null", tuesday, None, None, None, None, None),
        ("of a table", monday, "shop.orders", {"C": "int"}, {"C": "1"}, None, None),
    ]
    schema = (
        "event_id string, ingest_time timestamp, source_table string, row_types map<string,string>, "
        "row_values map<string,string>, row_unknown array<string>, c bigint"
    )
    log_df = spark.createDataFrame(rows, schema)
    known = {"C": KeptColumn(types=("x:int",), order="1", place="a:0", at="", declared="2026-01-06T00:00:00Z")}
    columns = kept_here([WHOLE, ColumnSpec(name="d", source="Other", type=ColumnType.BIGINT)], known)
    assert columns == (WHOLE,)
    assert with_kept(log_df, (), known) is log_df
    found = {row["event_id"]: (row["c"], row["row_unknown"]) for row in with_kept(log_df, columns, known).collect()}
    assert found == {
        "kept": (7, None),
        "absent": (None, ["b", "c"]),
        "null": (None, None),
        "unfit": (None, ["c"]),
        "nothing": (None, ["c"]),
        "declared": (5, None),
        "set to null": (None, None),
        "of a table": (None, None),
    }
    assert {row["event_id"] for row in log_df.where(has_kept(columns)).collect()} == {"kept", "null", "unfit"}
