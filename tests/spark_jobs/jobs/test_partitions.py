"""partitions: what is listed is what lies there, what is old goes by the run's clock, and changes stay where they are.

The rates are of four days; the lake has tables of changes beside them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.spec_file import load_lake_spec
from spark_jobs.entrypoint import parse_arguments
from spark_jobs.jobs import partitions
from spark_jobs.storage.layouts import load_layout
from spark_jobs.storage.partitions import find_partitions
from spark_jobs.storage.timeline import Timeline
from tests.support.envelopes import line, sqlserver
from tests.support.lakes import Lake
from tests.support.loading_lakes import lake_document, make_loading_lake, rates_of, write_csv

DAYS = ("2024-12-31", "2025-01-01", "2026-01-01", "2026-02-05")
CLOCK = datetime(2026, 2, 5, 23, 59, tzinfo=UTC)
"""400 days after the second of them."""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """An empty lake."""
    import yaml

    folder = tmp_path_factory.mktemp("lake")
    (folder / "lake.yaml").write_text(yaml.safe_dump(lake_document()), encoding="utf-8")
    return Settings(base_path=str(folder / "lake"), lake_spec=str(folder / "lake.yaml"))


def arguments(command: str, clock: datetime = CLOCK) -> JobArguments:
    return parse_arguments(["partitions", *command.split(), "--clock", clock.isoformat()])


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("list --table=units", "units has no partitions"),
        ("list --table=rates", "has no table 'rates'"),
        ("list --table=sales_log --partition=2026-01-01", "list takes no --partition"),
        ("delete --table=sales_log --partition=2026-01-01", "sales_log is made of changes, which would come back"),
        ("delete --table=lake_quality --partition=2026-01-01", "only loads lose partitions"),
        ("delete --table=countries --partition=AT", "countries has no partitions"),
        ("delete --table=merged_rates", "delete needs --table and --partition"),
        ("delete --partition=2026-01-01", "delete needs --table and --partition"),
        ("delete --table=merged_rates --partition=*", "--partition '*' is no name of a partition"),
        ("retain --table=sales_log", "sales_log is made of changes"),
        ("retain --table=budgets", "budgets keeps all its partitions; say in the lake spec for how long"),
        ("retain --partition=2026-01-01", "retain takes no --partition"),
    ],
)
def test_what_may_not_go_is_refused_on_one_line(settings: Settings, command: str, told: str) -> None:
    with pytest.raises(ContractError) as refusal:
        partitions.check(load_lake_spec(settings.lake_spec), arguments(command), settings)
    assert told in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_an_engine_is_started_only_for_what_there_is_to_do(settings: Settings) -> None:
    assert partitions.needs_spark(arguments("list"), settings)
    assert not partitions.needs_spark(arguments("retain"), settings)
    assert not partitions.needs_spark(arguments("retain --yes"), settings)
    assert partitions.run(None, arguments("retain --yes"), settings).status == NOTHING_TO_DO


def folders(lake: Lake, table: str) -> set[str]:
    """The folders that hold a file of the table's newest state, by the Rust reader's own listing."""
    from hudi import HudiTableBuilder

    slices = HudiTableBuilder.from_base_uri(lake.path(table)).build().get_file_slices()
    return {each.base_file_relative_path().split("/")[0] for each in slices}


@pytest.mark.hudi
@pytest.mark.parametrize("table", ["copied_rates", "merged_rates"])
def test_old_days_go_by_the_clock_and_the_listing_is_what_lies_there(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], table: str
) -> None:
    lake = make_loading_lake(spark, tmp_path)
    rows = [{"currency": name, "day": day, "rate": "1"} for name in ("EUR", "USD") for day in DAYS]
    lake.run("load", table=table, from_path=str(write_csv(tmp_path / "rates.csv", rows)))
    capsys.readouterr()
    listed = lake.run("partitions", action="list", table=table)
    assert (listed.counters["partitions"], listed.counters["rows"]) == (4, 8)
    layout = load_layout(load_lake_spec(lake.settings.lake_spec).load(table))
    assert {each.path for each in find_partitions(layout, lake.settings)} == folders(lake, table)
    assert folders(lake, table) == {f"day={day}" for day in DAYS}
    instant = Timeline(table=table, path=lake.path(table)).last
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    sizes = {
        day: [file.stat().st_size for file in Path(lake.path(table), f"day={day}").glob("*.parquet")] for day in DAYS
    }
    assert lines == [[table, f"day={day}", "2", str(len(sizes[day])), f"{sum(sizes[day]):,}", instant] for day in DAYS]
    before = lake.instants()
    plan = lake.run("partitions", action="retain", clock=CLOCK)
    assert (plan.status, plan.counters["partitions"]) == (NOTHING_TO_DO, 1)
    assert "do it with --yes" in plan.messages[0]
    assert DAYS[0] in capsys.readouterr().out
    assert lake.instants() == before
    assert partitions.needs_spark(arguments("retain --yes"), lake.settings)
    done = lake.run("partitions", action="retain", clock=CLOCK, yes=True)
    assert (done.status, done.tables[0].table, done.tables[0].is_committed) == (DONE, table, True)
    kept = {(row["currency"], row["day"]): Decimal(1) for row in rows if row["day"] != DAYS[0]}
    assert rates_of(lake.rows(table)) == rates_of(lake.rows_of_rust_reader(table)) == kept
    assert {each.path for each in find_partitions(layout, lake.settings)} == folders(lake, table)
    assert lake.run("partitions", action="retain", clock=CLOCK, yes=True).status == NOTHING_TO_DO
    assert len(lake.instants()[table]) == 2


@pytest.mark.hudi
def test_tables_of_changes_are_listed_too(spark: SparkSession, tmp_path: Path) -> None:
    lake = make_loading_lake(spark, tmp_path)
    lake.land("a.jsonl", [line(sqlserver("c", {"SaleId": 1, "AgentId": 7}, position)) for position in (1, 24 * 60 + 1)])
    lake.run("ingest")
    listed = lake.run("partitions", action="list")
    assert listed.counters == {"partitions": 2, "rows": 2, "files": 2}
