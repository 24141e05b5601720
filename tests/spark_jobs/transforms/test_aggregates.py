"""Cells of aggregate marts against counting everything again: rows come and go, step by step, in many cells at once.

The cells have two of each measure: sums of a decimal and of whole numbers, two averages, counts, two minima and two
maxima. What a step leaves in doubt is computed again, as the mart does; of all others the carried state has to be what
computing everything gives, to the last digit.
"""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DecimalType, DoubleType, LongType, StructField, StructType

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.marts import CELL_ID
from spark_jobs.sql_analysis.mart_sql import Measure, MeasureKind
from spark_jobs.transforms.aggregates import (
    IN_DOUBT,
    add_up,
    check_exact,
    finish_cells,
    has_extremes,
    merge_cells,
    state_columns,
)
from spark_jobs.transforms.cells import with_cell_id

pytestmark = pytest.mark.spark

SCHEMA = "agent bigint, day string, amount decimal(18,4), pieces bigint, id bigint"
GROUPS = ("agent", "day")
SQL = {
    "rows": "COUNT(*)",
    "known": "COUNT(amount)",
    "total": "SUM(amount)",
    "pieces_total": "SUM(pieces)",
    "mean": "AVG(amount)",
    "pieces_mean": "AVG(pieces)",
    "least": "MIN(amount)",
    "first_id": "MIN(id)",
    "greatest": "MAX(amount)",
    "last_id": "MAX(id)",
}
MEASURES = tuple(Measure(name=name, kind=MeasureKind(sql.split("(")[0].lower())) for name, sql in SQL.items())
COLUMNS = (*GROUPS, *SQL)
AMOUNTS = (None, Decimal("0.1000"), Decimal("0.2000"), Decimal("-0.0001"), Decimal("99999999999999.9999"))
Rows = list[tuple[Any, ...]]


def partial(spark: SparkSession, rows: Rows) -> DataFrame:
    """The state of cells over rows, as the partial SQL of a mart gives it."""
    states = ["COUNT(*) AS rows__count"]
    for measure in MEASURES:
        inner = SQL[measure.name].split("(")[1]
        if measure.kind is not MeasureKind.AVG:
            states.append(f"{SQL[measure.name]} AS {measure.name}")
        else:
            states += [f"AVG({inner} AS {measure.name}", f"SUM({inner} AS {measure.name}__sum"]
        if measure.kind in (MeasureKind.SUM, MeasureKind.AVG):
            states.append(f"COUNT({inner} AS {measure.name}__count")
    spark.createDataFrame(rows, SCHEMA).createOrReplaceTempView("rows_of_cells")
    return spark.sql(f"SELECT agent, day, {', '.join(states)} FROM rows_of_cells GROUP BY agent, day")


def computed(spark: SparkSession, rows: Rows) -> dict[Any, tuple[Any, ...]]:
    """Every cell by plain SQL over all rows; the mean of whole numbers is exact too, which Spark's own is not."""
    spark.createDataFrame(rows, SCHEMA).createOrReplaceTempView("all_rows")
    exact = {"pieces_mean": "CAST(SUM(pieces) AS DECIMAL(38, 0)) / CAST(COUNT(pieces) AS DECIMAL(20, 0))"}
    columns = ", ".join(f"{sql} AS {name}" for name, sql in {**SQL, **exact}.items())
    found = spark.sql(f"SELECT agent, day, {columns} FROM all_rows GROUP BY agent, day").collect()
    return {(row["agent"], row["day"]): tuple(row)[2:] for row in found}


def random_row(rng: random.Random, number: int) -> tuple[Any, ...]:
    day = rng.choice(("2026-01-01", "2026-01-02", None))
    return rng.randrange(12), day, rng.choice(AMOUNTS), rng.choice((None, 1, 2, 2**40)), number


@pytest.mark.parametrize("seed", range(2))
def test_cells_carried_on_are_what_computing_everything_gives(spark, seed):
    rng = random.Random(f"cells/{seed}")
    there: Rows = []
    cells: dict[Any, dict[str, Any]] = {}
    types: Any = None
    for step in range(3):
        came = [random_row(rng, 1000 * step + number) for number in range(60)]
        left = rng.sample(there, len(there) // 2)
        if step == 2:
            left += [row for row in there if row[0] == 3 and row not in left]  # an agent loses all there is
            came = [row for row in came if row[0] != 3]
        there = [row for row in there if row not in left] + came
        change_df = add_up(partial(spark, came), partial(spark, left) if left else None, GROUPS, MEASURES)
        change_df = with_cell_id(change_df, GROUPS)
        stored_df = spark.createDataFrame([tuple(cell.values()) for cell in cells.values()], types) if cells else None
        merged_df = merge_cells(change_df, stored_df, GROUPS, MEASURES).cache()
        expected = computed(spark, there)
        changed = {tuple(row) for row in change_df.select(*GROUPS).collect()}
        assert changed == {(row[0], row[1]) for row in (*came, *left)}
        doubted = {(row["agent"], row["day"]) for row in merged_df.where(IN_DOUBT).collect()}
        assert doubted == {key for key in changed & expected.keys() if may_have_left(key, cells, left)}
        done_df = finish_cells(merged_df.drop(IN_DOUBT), COLUMNS, MEASURES)
        types = done_df.schema
        found = {(row["agent"], row["day"]): row for row in done_df.collect()}
        assert found.keys() == changed & expected.keys(), "a cell without rows is not there any more"
        for key, row in found.items():
            sure = [n for n, name in enumerate(SQL) if key not in doubted or SQL[name][:3] not in ("MIN", "MAX")]
            own = tuple(row[name] for name in SQL)
            assert [own[n] for n in sure] == [expected[key][n] for n in sure], key
        for key in changed:
            cells.pop(key, None)
        for key, row in found.items():  # those in doubt are computed again
            cells[key] = row.asDict() | dict(zip(SQL, expected[key], strict=True))
        merged_df.unpersist()
    assert {key: tuple(cell[name] for name in SQL) for key, cell in cells.items()} == computed(spark, there)


def may_have_left(key: Any, cells: dict[Any, dict[str, Any]], left: Rows) -> bool:
    """True when a row that left has a value that is as low or as high as the cell's least or greatest."""
    before = cells.get(key)
    for row in left:
        if before is None or (row[0], row[1]) != key:
            continue
        pairs = ((row[2], "least", "greatest"), (row[4], "first_id", "last_id"))
        for value, least, greatest in pairs:
            if value is not None and (value <= before[least] or value >= before[greatest]):
                return True
    return False


def test_what_is_kept_of_measures():
    assert state_columns(MEASURES[2:5]) == (
        "rows__count", "total", "total__count", "pieces_total", "pieces_total__count", "mean", "mean__count",
        "mean__sum",
    )  # fmt: skip
    assert has_extremes(MEASURES)
    assert has_extremes(MEASURES[6:7])
    assert has_extremes(MEASURES[-1:])
    assert not has_extremes(MEASURES[:6])


@pytest.mark.parametrize("at", range(2))
@pytest.mark.parametrize("names", [("total", "total__count"), ("mean__sum", "mean__count")])
def test_floating_sums_are_refused_whichever_of_the_sums_it_is(at: int, names: tuple[str, str]):
    def fields(name: str, count: str, kind: Any) -> list[StructField]:
        return [StructField(name, kind), StructField(count, LongType())]

    exact, floating = fields("first", "first__count", DecimalType(38, 4)), fields(*names, DoubleType())
    check_exact(StructType([*exact, StructField("rate", DoubleType())]), "cells")
    both = [*floating, *exact] if at else [*exact, *floating]
    with pytest.raises(ContractError, match=f"mart cells: {names[0].removesuffix('__sum')} adds floating numbers"):
        check_exact(StructType(both), "cells")


def test_a_cell_keeps_its_key(spark):
    change_df = with_cell_id(add_up(partial(spark, [(1, None, None, 1, 1)]), None, GROUPS, MEASURES), GROUPS)
    (row,) = merge_cells(change_df, None, GROUPS, MEASURES).collect()
    assert (row[CELL_ID], row["agent"], row["day"], row["rows__count"], row[IN_DOUBT]) == ("1|-", 1, None, 1, False)
