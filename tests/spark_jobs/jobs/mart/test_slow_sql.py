"""The SQL of the slow layer's marts on random histories and on the examples of the docs, against the plain oracle.

The SQL is run as it is in ``include/marts``, each mart on the rows of the one it reads. Of every history it is also
shown that the order of rows means nothing, and that a scope computed alone comes out as it does among all others: the
incremental way does just that.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.spec_files.mart_file import load_marts
from spark_jobs.spec_files.rules_file import load_rules
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.sql_analysis.mart_sql import analyse_mart
from spark_jobs.storage.pinned import pinned
from tests.support import oracle_slow
from tests.support.doc_tables import Table, read_tables
from tests.support.lakes import in_utc
from tests.support.oracle import Event
from tests.support.rule_files import sales_rules
from tests.support.slow_histories import LOG_SCHEMA, log_rows, random_events

pytestmark = pytest.mark.spark

MARTS = {mart.name: mart for mart in load_marts(PROJECT_ROOT / "include" / "marts") if mart.layer == "slow"}
ON_PATHS = ("slow_unit_difficulty", "slow_agent_success", "slow_customer_demand", "slow_milestones")
LATER = pytest.mark.slice(name="laws-marts")
HISTORIES = [
    (3, "America/St_Johns"),
    pytest.param(1, "UTC", marks=LATER),
    pytest.param(2, "Europe/Paris", marks=LATER),
]
DOCS = PROJECT_ROOT / "docs"
HEADINGS = {
    "Its paths": "slow_sale_paths",
    "Units that are hard to sell": "slow_unit_difficulty",
    "How an agent's sales go": "slow_agent_success",
    "Demanding customers": "slow_customer_demand",
    "Milestones": "slow_milestones",
}


@pytest.fixture
def rules_folder(tmp_path: Path) -> Path:
    sales_rules(tmp_path, "r1", {8: "1"}, {})
    shares, factors = {1: "0.005", 5: "0.333333", 8: "0.661667"}, {2: "1.333333", 3: "0", 4: "900.1"}
    sales_rules(tmp_path, "r2", shares, factors, valid_from="2026-02-15")
    return sales_rules(tmp_path, "r3", {2: "0.3", 10: "0.7"}, {1: "0.5"}, promoted=False)


def select(spark: SparkSession, mart: str, tables: Mapping[str, DataFrame], time_zone: str = "UTC") -> DataFrame:
    """What the mart's SQL makes of these tables."""
    for name, rows_df in tables.items():
        rows_df.createOrReplaceTempView(name)
    return spark.sql(MARTS[mart].sql, args={"time_zone": time_zone})


def plain(value: Any) -> Any:
    return [in_utc(part) for part in value] if isinstance(value, list) else in_utc(value)


def rows_of(mart: str, rows_df: DataFrame) -> oracle_slow.Rows:
    """Rows by the mart's grain, in the oracle's form; fails when a cell occurs twice."""
    grain = MARTS[mart].grain
    rows = [{name: plain(value) for name, value in row.asDict().items()} for row in rows_df.collect()]
    cells = {tuple(row[name] for name in grain) if len(grain) > 1 else row[grain[0]]: row for row in rows}
    assert len(cells) == len(rows)
    return cells


@contextmanager
def slow_layer(spark: SparkSession, log_df: DataFrame, time_zone: str) -> Iterator[dict[str, DataFrame]]:
    """Every mart of the slow layer but performance, computed once."""
    with ExitStack() as stack:
        paths_df = select(spark, "slow_sale_paths", {"sales_log": log_df}, time_zone)
        marts = {"slow_sale_paths": stack.enter_context(pinned(spark, paths_df, "paths"))}
        for mart in ON_PATHS:
            marts_df = select(spark, mart, {"slow_sale_paths": marts["slow_sale_paths"]}, time_zone)
            marts[mart] = stack.enter_context(pinned(spark, marts_df, mart))
        yield marts


def expected(events: list[Event], time_zone: str) -> dict[str, oracle_slow.Rows]:
    paths = oracle_slow.slow_sale_paths(events, time_zone)
    return {
        "slow_sale_paths": paths,
        "slow_unit_difficulty": oracle_slow.unit_difficulty(paths, time_zone),
        "slow_agent_success": oracle_slow.agent_success(paths),
        "slow_customer_demand": oracle_slow.customer_demand(paths),
        "slow_milestones": oracle_slow.milestones(paths, time_zone),
    }


def performance(
    spark: SparkSession, milestones_df: DataFrame, folder: Path, overrides: Mapping[str, str]
) -> oracle_slow.Rows:
    book = load_rules(str(folder))
    months = book.by_month(row[0] for row in milestones_df.select("month").distinct().collect())
    milestones_df.createOrReplaceTempView("slow_milestones")
    query = analyse_mart(MARTS["slow_agent_performance"], load_lake_spec(Settings().lake_spec), book)
    text = query.sql({"slow_milestones": "slow_milestones"}, time_zone="UTC", months={**months, **overrides})
    return rows_of("slow_agent_performance", spark.sql(text))


@pytest.mark.parametrize(("seed", "time_zone"), HISTORIES)
def test_random_histories(spark: SparkSession, rules_folder: Path, seed: int, time_zone: str) -> None:
    events = random_events(seed, sales=300)
    rows = log_rows(events)
    wanted = expected(events, time_zone)
    assert all(len(cells) > 30 for cells in wanted.values())
    with slow_layer(spark, spark.createDataFrame(rows, LOG_SCHEMA), time_zone) as marts:
        for mart, marts_df in marts.items():
            assert rows_of(mart, marts_df) == wanted[mart], mart
        for overrides in ({}, {"2025-12": "r3", "2026-02": "r3"}):
            found = performance(spark, marts["slow_milestones"], rules_folder, overrides)
            rules = oracle_slow.read_rules(rules_folder)
            assert found == oracle_slow.agent_performance(wanted["slow_milestones"], rules, overrides)
            assert len(found) > 20
            assert any(month == "2025-12" for month, _ in found) == bool(overrides), "before the first version"
    random.Random(seed).shuffle(rows)
    with slow_layer(spark, spark.createDataFrame(rows, LOG_SCHEMA).repartition(5), time_zone) as permuted:
        assert {mart: rows_of(mart, marts_df) for mart, marts_df in permuted.items()} == wanted


@LATER
def test_a_scope_computed_alone_is_what_it_is_among_all(spark: SparkSession) -> None:
    events = random_events(4, sales=150)
    log_df = spark.createDataFrame(log_rows(events), LOG_SCHEMA)
    wanted = expected(events, "UTC")
    with slow_layer(spark, log_df, "UTC") as marts:
        sources = {"slow_sale_paths": ("sales_log", log_df)}
        sources |= dict.fromkeys(ON_PATHS, ("slow_sale_paths", marts["slow_sale_paths"]))
        for mart, (table, source_df) in sources.items():
            scope = MARTS[mart].scope
            scopes = sorted({row[scope] for row in wanted[mart].values()})[::3]
            alone_df = select(spark, mart, {table: source_df.where(source_df[scope].isin(scopes))})
            kept = {cell: row for cell, row in wanted[mart].items() if row[scope] in scopes}
            assert kept
            assert rows_of(mart, alone_df) == kept, mart


def test_an_empty_log_makes_empty_marts(spark: SparkSession) -> None:
    with slow_layer(spark, spark.createDataFrame([], LOG_SCHEMA), "UTC") as marts:
        assert {mart: rows_of(mart, marts_df) for mart, marts_df in marts.items()} == {key: {} for key in marts}


def test_fractions_are_rounded_once_and_half_up(spark: SparkSession) -> None:
    """Customers with so many sales and so many steps in all; with 32 and 160 sales the fifth digit is often a 5."""
    totals = [(sales, steps) for sales in (3, 7, 32, 160, 4001) for steps in (*range(1, 12), 3 * sales - 1)]
    paths = "sale_id bigint, month string, unit_id bigint, customer_id bigint, steps bigint"
    rows = [
        (number * 10_000 + sale, "2026-01", number, number, steps // sales + (sale < steps % sales))
        for number, (sales, steps) in enumerate(totals)
        for sale in range(sales)
    ]
    paths_df = spark.createDataFrame(rows, paths)
    found = rows_of("slow_customer_demand", select(spark, "slow_customer_demand", {"slow_sale_paths": paths_df}))
    means = {number: oracle_slow.rounded(Fraction(steps, sales), 4) for number, (sales, steps) in enumerate(totals)}
    assert {customer: row["mean_steps"] for (_, customer), row in found.items()} == means
    assert means[totals.index((32, 1))] == Decimal("0.0313"), "0.03125"
    assert means[totals.index((160, 5))] == Decimal("0.0313"), "the same"


def test_products_are_exact_and_rounded_before_they_are_summed(spark: SparkSession, tmp_path: Path) -> None:
    """Half a millionth counts twice in January, each rounded up; in March there are the largest amounts that can be.

    In April a little less than half a millionth would be rounded up, had the product fewer digits on the way.
    """
    shares, factors = {1: "0.005", 2: "0.994999", 3: "0.000001"}, {1: "999.999999", 3: "0.999999"}
    sales_rules(tmp_path, "x", shares, factors)
    tiny, large = Decimal("0.0001"), Decimal("99999999999999.9999")
    rows = [
        (1, 1, "2026-01", 7, None, tiny),
        (2, 1, "2026-01", 7, 2, tiny),
        (3, 1, "2026-02", 7, None, -tiny),
        (4, 2, "2026-03", 7, 1, large),
        (5, 3, "2026-03", 8, 1, -large),
        (6, 9, "2026-03", 9, 1, large),
        (7, 1, "2026-04", 7, 3, tiny),
    ]
    milestones = "sale_id bigint, status_id bigint, month string, agent_id bigint, project_id bigint"
    milestones_df = spark.createDataFrame(rows, f"{milestones}, contract_subtotal decimal(18,4)")
    found = performance(spark, milestones_df, tmp_path, {})
    assert {cell: row["performance"] for cell, row in found.items()} == {
        ("2026-01", 7): Decimal("0.000002"),
        ("2026-02", 7): Decimal("-0.000001"),
        ("2026-03", 7): Decimal("99499899900500099.900500"),
        ("2026-03", 8): Decimal("-99999999900.000000"),
        ("2026-04", 7): Decimal(0),
    }


def test_the_examples_of_the_docs(spark: SparkSession) -> None:
    """Every table under a heading of the two pages, row by row: by the SQL and by the oracle."""
    pages = {**read_tables(DOCS / "funnel-paths.md"), **read_tables(DOCS / "rules.md")}
    events = [
        Event(
            origin="docs",
            order=((row.pop("order"),), ""),
            time=row.pop("time"),
            op=row.pop("op"),
            row={name: value for name, value in row.items() if value is not None},
        )
        for row in pages["A history"]
    ]
    wanted = expected(events, "Europe/Paris")
    with slow_layer(spark, spark.createDataFrame(log_rows(events), LOG_SCHEMA), "Europe/Paris") as marts:
        for heading, mart in HEADINGS.items():
            assert narrowed(rows_of(mart, marts[mart]), pages[heading]) == by_grain(mart, pages[heading])
            assert narrowed(wanted[mart], pages[heading]) == by_grain(mart, pages[heading])
        rules = oracle_slow.read_rules(PROJECT_ROOT / "include" / "rules")
        for version in ("v1", "v2"):
            table = pages[f"The same history under {version}"]
            overrides = {"2026-01": version, "2026-02": version}
            found = performance(spark, marts["slow_milestones"], PROJECT_ROOT / "include" / "rules", overrides)
            assert found == by_grain("slow_agent_performance", table)
            assert found == oracle_slow.agent_performance(wanted["slow_milestones"], rules, overrides)


def by_grain(mart: str, table: Table) -> oracle_slow.Rows:
    grain = MARTS[mart].grain
    return {tuple(row[name] for name in grain) if len(grain) > 1 else row[grain[0]]: row for row in table}


def narrowed(rows: oracle_slow.Rows, table: Table) -> oracle_slow.Rows:
    """The columns that the page shows."""
    return {cell: {name: row[name] for name in table[0]} for cell, row in rows.items()}
