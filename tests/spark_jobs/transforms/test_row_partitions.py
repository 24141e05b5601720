"""A table is partitioned by a column that the source has, and by what of it there is: year, month, day, or a range.

Names of ranges are those of a plain function here, which finds the range of a number by Python's whole numbers.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.partitioning import MOST_WIDTH, Transform
from spark_jobs.lake_spec.schemas import Column
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.transforms.keyed_rows import KEY, MergedTable
from spark_jobs.transforms.row_partitions import partition_of, range_of

pytestmark = pytest.mark.spark

COLUMNS = tuple(
    Column(source=source, name=source.lower(), type=type_, added="0", since="0")
    for source, type_ in (("Id", "bigint"), ("City", "string"), ("At", "timestamp"))
)


WIDTHS = (1, 2, 7, 10, 1_000_000, 10**9 + 7, MOST_WIDTH)
EDGES = (0, 1, -1, 9, 10, 11, -9, -10, -11, 999_999, 10**6, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))
NO_NUMBERS = ("", " 7", "7 ", "7\n", "+7", "7.0", "1e3", "0x7", "--7", "-", "٧", "7/../8", str(2**63), "9" * 30, "null")


def orders(**words: Any) -> TableSpec:
    return TableSpec(**{"name": "orders", "database": "shop", "table": "orders", "key": ("Id",), **words})


def named(number: int, width: int) -> str:
    """The name of the range: its first number, and for one below zero what is missing to ten to the 19."""
    first = number // width * width
    return f"{first:019d}" if first >= 0 else f"-{10**19 + first:019d}"


@pytest.mark.parametrize(
    ("partition", "transform", "message"),
    [
        (
            "Town",
            Transform.VALUE,
            "orders: there is no column 'Town' to partition by; the source has ['Id', 'City', 'At']",
        ),
        ("City", Transform.MONTH, "orders: City is string and has no month; use transform: value"),
        ("At", Transform.TRUNCATE, "orders: At is timestamp and has no truncate; use transform: value"),
        ("At", Transform.MONTH, ""),
        ("City", Transform.VALUE, ""),
    ],
)
def test_the_column_is_there_and_has_what_names_the_partition(
    spark: SparkSession, partition: str, transform: Transform, message: str
):
    mirror = orders(partition=partition, transform=transform, width=10 if transform is Transform.TRUNCATE else None)
    table = MergedTable(spec=mirror, columns=COLUMNS)
    if message:
        with pytest.raises(ContractError) as refused:
            partition_of(table, F.lit("1"), F.lit)
        assert str(refused.value) == message
        return
    texts = {"slot_1": "Oslo", "slot_2": "1767225600000000"}
    named = partition_of(table, F.lit("1"), lambda slot: F.lit(texts[slot]))
    row = spark.range(1).select(named.alias("partition")).first()
    assert row is not None
    assert row["partition"] == ("2026-01" if transform is Transform.MONTH else "Oslo")


@pytest.mark.parametrize("width", WIDTHS)
def test_the_name_of_a_range_is_its_first_number_and_names_sort_as_numbers_do(spark: SparkSession, width: int):
    rng = random.Random(width)
    numbers = {*EDGES, *(rng.choice((-1, 1)) * rng.randrange(10 ** rng.randint(1, 18)) for _ in range(300))}
    texts = {str(number): named(number, width) for number in numbers} | {"007": named(7, width), "-0": named(0, width)}
    texts |= dict.fromkeys(NO_NUMBERS, "unknown")
    rows_df = spark.createDataFrame([*((text,) for text in texts), (None,)], "text string")
    spec = orders(partition="Id", transform=Transform.TRUNCATE, width=width)
    found = {row["text"]: row["range"] for row in rows_df.withColumn("range", range_of(F.col("text"), spec)).collect()}
    assert found.pop(None) == "unknown"
    assert found == texts
    in_order = [found[str(number)] for number in sorted(numbers)]
    assert in_order == sorted(in_order)


@pytest.mark.parametrize(("key", "text"), [(("Id",), "-12"), (("City", "Id"), json.dumps(["Oslo", "-12"]))])
def test_a_row_is_in_the_range_of_its_key_whether_it_is_deleted_or_not(
    spark: SparkSession, key: tuple[str, ...], text: str
):
    """Of a row that was deleted before it was seen the key is all there is."""
    mirror = orders(key=key, partition="Id", transform=Transform.TRUNCATE, width=10)
    table = MergedTable(spec=mirror, columns=COLUMNS)
    rows_df = spark.createDataFrame([(text, "1"), (text, None)], f"{KEY} string, row_order string")
    nothing = F.lit(None).cast("string")
    found = [row[0] for row in rows_df.select(partition_of(table, F.col("row_order"), lambda slot: nothing)).collect()]
    assert found == [named(-12, 10)] * 2
    assert (mirror.has_fixed_partitions, mirror.removes_rows, mirror.has_row_order) == (True, False, True)


def test_a_row_in_ranges_of_another_column_moves_and_goes_to_the_deleted_ones(spark: SparkSession):
    mirror = orders(key=("City",), partition="Id", transform=Transform.TRUNCATE, width=10)
    table = MergedTable(spec=mirror, columns=COLUMNS)
    rows_df = spark.createDataFrame([("1", "12"), ("1", None), (None, "12")], "row_order string, slot_0 string")
    found = [row[0] for row in rows_df.select(partition_of(table, F.col("row_order"), F.col)).collect()]
    assert found == [named(12, 10), "unknown", "deleted"]
    assert (mirror.has_fixed_partitions, mirror.removes_rows) == (False, True)
