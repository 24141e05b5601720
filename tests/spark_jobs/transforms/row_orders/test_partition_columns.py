"""A mirror is partitioned by a column that the source has, and by its year, month or day only where it has them."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.schemas import Column
from spark_jobs.lake_spec.table_spec import TableSpec, Transform
from spark_jobs.transforms.keyed_rows import MergedTable
from spark_jobs.transforms.row_orders import partition_of

pytestmark = pytest.mark.spark

COLUMNS = tuple(
    Column(source=source, name=source.lower(), type=type_, added="0", since="0")
    for source, type_ in (("Id", "bigint"), ("City", "string"), ("At", "timestamp"))
)


@pytest.mark.parametrize(
    ("partition", "transform", "message"),
    [
        (
            "Town",
            Transform.VALUE,
            "orders: there is no column 'Town' to partition by; the source has ['Id', 'City', 'At']",
        ),
        ("City", Transform.MONTH, "orders: City is string and has no month; use transform: value"),
        ("At", Transform.MONTH, ""),
        ("City", Transform.VALUE, ""),
    ],
)
def test_the_column_is_there_and_has_what_names_the_partition(
    spark: SparkSession, partition: str, transform: Transform, message: str
):
    mirror = TableSpec(
        name="orders", database="shop", table="orders", key=("Id",), partition=partition, transform=transform
    )
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
