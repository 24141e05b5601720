"""What a rewrite would change is counted as it is, wherever rows come from and go to."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contracts.settings import Settings
from spark_jobs.marts.plan import newest_bytes, plan_rewrite
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.layouts import mart_layout
from tests.support.made_tables import MadeTable

SPEC = load_lake_spec(Settings().lake_spec)
MART = SPEC.mart("slow_agent_performance")
SIDES = "before struct<cell_id:string,month:string>, after struct<cell_id:string,month:string>"


@pytest.fixture
def table(tmp_path: Path) -> str:
    """Two file groups in one month, each with an older file, one in the next; a log file beside them."""
    made = MadeTable(mart_layout(MART), tmp_path / MART.name)
    for month, group, number, size in (
        ("2026-01", "a", 1, 100),
        ("2026-01", "a", 3, 7),
        ("2026-01", "b", 2, 20),
        ("2026-01", "b", 1, 1000),
        ("2026-02", "c", 1, 300),
        ("2026-03", "d", 1, 4000),
    ):
        made.base(group, number, size=size, partition=f"month={month}")
    made.logs("a", 3, 2, size=9999)
    return str(made.folder)


def test_the_newest_file_of_each_group_is_written_again(table: str):
    assert newest_bytes(table, ["month=2026-01"]) == 27
    assert newest_bytes(table, ["month=2026-01", "month=2026-02"]) == 327
    assert newest_bytes(table, []) == newest_bytes(table, ["month=2025-01"]) == 0


@pytest.mark.spark
def test_rows_and_partitions_are_counted_on_both_sides(spark, table: str):
    assert MART.partition == "month"
    rows = [
        (None, ("1", "2026-01")),
        (None, ("2", "2026-01")),
        (("3", "2026-01"), ("3", "2026-01")),
        (("4", "2026-02"), None),
        (("5", "2026-02"), None),
        (("6", "2026-02"), None),
    ]
    plan = plan_rewrite(spark.createDataFrame(rows, SIDES), MART, SPEC, table)
    assert (plan.new, plan.changed, plan.gone, plan.rows) == (2, 1, 3, 6)
    assert plan.partitions == ("2026-01", "2026-02"), "those that rows leave too"
    assert plan.bytes == 327
    assert plan.describe().startswith("6 rows (2 new, 1 changed, 3 gone) in 2 partitions, 327 bytes")
    assert plan.cells()[:5] == (MART.name, "2 (2026-01 to 2026-02)", 2, 1, 3)
    nothing = plan_rewrite(spark.createDataFrame([], SIDES), MART, SPEC, table)
    assert (nothing.rows, nothing.partitions, nothing.bytes) == (0, (), 0)
