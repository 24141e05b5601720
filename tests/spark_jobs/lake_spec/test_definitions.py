"""Which changes of a file are changes of the definition, and which parts they are in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.definitions import (
    changed_parts,
    digest_of,
    fixed_parts,
    is_rebuildable,
    mart_parts,
    table_parts,
)
from spark_jobs.lake_spec.freshness import FreshnessPromise
from spark_jobs.lake_spec.marts import MartMode, MartSpec, ReadSpec, TimeSpec, TimeUnit, WindowSpec
from spark_jobs.lake_spec.table_spec import Deletes, TableSpec
from spark_jobs.lake_spec.tables import Nulls, TableType
from spark_jobs.spec_files.spec_file import load_lake_spec

SPEC = load_lake_spec(Settings().lake_spec)
MART = MartSpec(
    name="day_totals",
    layer="slow",
    mode=MartMode.SCOPED,
    reads=(ReadSpec(table="sales", scope="day_of(contract_signing_date)"),),
    grain=("day", "agent_id"),
    scope="day",
    sql="SELECT day, agent_id, COUNT(*) AS sales FROM sales GROUP BY day, agent_id",
    time=TimeSpec(column="day", unit=TimeUnit.DAY),
)
TABLE = TableSpec(name="sales", key=("sale_id",), columns=("unit_id", "status_id"))

CHANGES = {
    "sql": replace(MART, sql=MART.sql.replace("COUNT(*)", "COUNT(agent_id)")),
    "grain": replace(MART, grain=("day", "agent_id", "unit_id")),
    "reads": replace(MART, reads=(ReadSpec(table="sales", scope="another_day(contract_signing_date)"),)),
    "time": replace(MART, time=None),
    "partition": replace(MART, partition="day"),
    "window": replace(MART, window=WindowSpec(length=3, unit=TimeUnit.DAY)),
}


@pytest.mark.parametrize("part", CHANGES)
def test_a_change_is_in_the_part_that_has_it(part: str) -> None:
    now = mart_parts(CHANGES[part], SPEC)
    assert set(changed_parts(mart_parts(MART, SPEC), now)) - {"time_zone"} == {part}
    assert changed_parts(now, now) == ()


@pytest.mark.parametrize(
    "same",
    [
        replace(MART, sql=f"-- a comment\n{MART.sql.replace(', ', ',   ')}"),
        replace(MART, layer="fast", buckets=4, type=TableType.MERGE_ON_READ),
        replace(MART, freshness=FreshnessPromise()),
    ],
    ids=["layout", "storage", "freshness"],
)
def test_how_it_is_written_and_stored_is_no_change(same: MartSpec) -> None:
    assert mart_parts(same, SPEC) == mart_parts(MART, SPEC)


def test_the_time_zone_counts_where_it_is_used() -> None:
    tokyo = replace(SPEC, time_zone="Asia/Tokyo")
    assert mart_parts(MART, SPEC) == mart_parts(MART, tokyo)
    for mart in (replace(MART, sql=f"{MART.sql} HAVING :time_zone = ''"), CHANGES["window"]):
        assert changed_parts(mart_parts(mart, SPEC), mart_parts(mart, tokyo)) == ("time_zone",)


def test_what_decides_versions_decides_the_marts_that_read_them() -> None:
    """They are found when they are read, by what the entry of their table says then."""
    reads = (ReadSpec(table="agents_versions", by="agent_id"), *MART.reads)
    mart = replace(MART, reads=reads)
    agents, others = SPEC.table("agents"), tuple(table for table in SPEC.tables if table.name != "agents")
    changes: tuple[dict[str, Any], ...] = (
        {},
        {"nulls": Nulls.VALUE},
        {"columns": ("agent_name", "project_id")},
        {"buckets": 7},
    )
    specs = [replace(SPEC, tables=(replace(agents, history=True, **more), *others)) for more in changes]
    first, *changed = (mart_parts(mart, spec) for spec in specs)
    assert [changed_parts(first, parts) for parts in changed] == [("versions",), ("versions",), ()]
    assert "versions" not in mart_parts(MART, specs[0])


def test_the_digest_of_earlier_releases_stays_what_it_was() -> None:
    """It is in the commits of lakes that are there: with another one, all of their marts would be blocked."""
    assert MART.definition == "3360311d15d8b1ba"


TABLES: dict[tuple[str, ...], TableSpec] = {
    ("key",): replace(TABLE, key=("unit_id",), columns=("sale_id", "status_id")),
    ("partition",): replace(TABLE, partition="status_id"),
    ("deletes",): replace(TABLE, deletes=Deletes.REMOVE),
}


@pytest.mark.parametrize("fixed", TABLES)
def test_what_concerns_rows_that_are_there_blocks_a_table(fixed: tuple[str, ...]) -> None:
    stored, now = table_parts(TABLE, SPEC), table_parts(TABLES[fixed], SPEC)
    assert fixed_parts(stored, now) == fixed_parts(now, stored) == fixed
    assert is_rebuildable(stored, now)
    assert is_rebuildable(now, stored)


def test_another_key_and_deletes_kept_apart_by_the_old_one_do_not_go_together() -> None:
    stored = table_parts(TABLE, SPEC)
    for deletes in Deletes:
        table = replace(TABLES["key",], deletes=deletes)
        assert is_rebuildable(stored, table_parts(table, SPEC)) is (deletes is not Deletes.REMOVE)
        assert is_rebuildable(table_parts(table, SPEC), stored) is (deletes is not Deletes.REMOVE)


def test_what_null_means_blocks_every_table_in_both_directions() -> None:
    """The log knows of every event which columns did not travel, so its rows by either rule can be rebuilt."""
    mirror = TableSpec(name="orders", key=("id",), database="shop", table="orders")
    for nulls in ({"nulls": Nulls.UNKNOWN}, {"null_columns": (("note", Nulls.UNKNOWN),)}):
        stored, now = table_parts(mirror, SPEC), table_parts(replace(mirror, **nulls), SPEC)
        assert fixed_parts(stored, now) == fixed_parts(now, stored) == (*nulls,)
    for nulls in ({"nulls": Nulls.VALUE}, {"null_columns": (("status_id", Nulls.VALUE),)}):
        stored, now = table_parts(TABLE, SPEC), table_parts(replace(TABLE, **nulls), SPEC)
        assert fixed_parts(stored, now) == fixed_parts(now, stored) == (*nulls,)


def test_which_columns_it_has_does_not() -> None:
    stored = table_parts(TABLE, SPEC)
    for table in (
        replace(TABLE, columns=("unit_id",)),
        replace(TABLE, deletes=Deletes.TOMBSTONE),
    ):
        now = table_parts(table, SPEC)
        assert changed_parts(stored, now)
        assert fixed_parts(stored, now) == ()


@settings(max_examples=10)
@given(st.sampled_from(range(len(SPEC.marts))), st.sampled_from(["SELECT 1 AS a", "SELECT 2 AS a"]))
def test_the_digest_of_a_lake_is_of_all_its_marts(number: int, sql: str) -> None:
    marts = list(SPEC.marts)
    marts[number] = replace(marts[number], sql=sql)
    assert digest_of(replace(SPEC, marts=tuple(marts)), None) != digest_of(SPEC, None)
    assert digest_of(replace(SPEC), None) == digest_of(SPEC, None)
