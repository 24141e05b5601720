"""partitions: what is listed is what is there, what is old goes by the run's clock, and changes stay where they are.

The rates are of four days; the lake has tables of changes beside them.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from spark_jobs.context import JobContext
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO
from spark_jobs.contracts.settings import Settings
from spark_jobs.entrypoint import parse_arguments
from spark_jobs.jobs import partitions
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.layouts import load_layout
from spark_jobs.storage.partitions import find_partitions
from spark_jobs.storage.timeline import Timeline
from tests.support.envelopes import line, sqlserver
from tests.support.lakes import Lake
from tests.support.loading_lakes import lake_document, make_loading_lake, rates_of, write_csv
from tests.support.made_tables import MadeTable, at

DAYS = ("2024-12-31", "2025-01-01", "2026-01-01", "2026-02-05")
CLOCK = datetime(2026, 2, 5, 23, 59, tzinfo=UTC)
"""400 days after the second of them."""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """An empty lake."""
    folder = tmp_path_factory.mktemp("lake")
    (folder / "lake.yaml").write_text(yaml.safe_dump(lake_document()), encoding="utf-8")
    return Settings(base_path=str(folder / "lake"), lake_spec=str(folder / "lake.yaml"))


def context(settings: Settings, command: str, clock: datetime = CLOCK) -> JobContext[Any]:
    made = parse_arguments(["partitions", *command.split(), "--clock", clock.isoformat()])
    return replace(made, settings=settings, lake=load_lake_spec(settings.lake_spec))


@pytest.mark.parametrize(
    ("command", "message"),
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
def test_what_may_not_go_is_refused_on_one_line(settings: Settings, command: str, message: str) -> None:
    with pytest.raises(ContractError) as refusal:
        partitions.check(context(settings, command))
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_an_engine_is_started_only_for_what_there_is_to_do(settings: Settings) -> None:
    assert partitions.needs_spark(context(settings, "list"))
    assert not partitions.needs_spark(context(settings, "retain"))
    assert not partitions.needs_spark(context(settings, "retain --yes"))
    assert partitions.run(context(settings, "retain --yes")).status == NOTHING_TO_DO


RETAIN_CLOCKS = (datetime(2026, 2, 5, tzinfo=UTC), datetime(2026, 2, 5, 23, 59, tzinfo=UTC))
"""The first and the last minute of a day, 400 days after 2025-01-01."""


@pytest.mark.parametrize("clock", RETAIN_CLOCKS)
def test_by_age_those_before_the_first_day_that_stays_go_of_each_table_its_own(tmp_path: Path, clock: datetime) -> None:
    """A day beside the border on each side; what is no day stays, and so does a partition without files."""
    spec_path = tmp_path / "lake.yaml"
    spec_path.write_text(yaml.safe_dump(lake_document()), encoding="utf-8")
    settings, spec = Settings(base_path=str(tmp_path), lake_spec=str(spec_path)), load_lake_spec(str(spec_path))
    days = {
        "merged_rates": ("2024-12-31", "2025-01-01", "2025-01-02"),
        "copied_rates": ("2023-01-01", "2024-12-30", "2026-02-05", "2024-13-01", "2024", "20241231"),
        "budgets": ("2020-01",),
    }
    for name, of_table in days.items():
        made = MadeTable(load_layout(spec.load(name)), tmp_path / name).commits(1, 2)
        column = load_layout(spec.load(name)).partition
        for number, day in enumerate(of_table):
            made.base(f"f{number}", 1, partition=f"{column}={day}").base(f"f{number}", 2, partition=f"{column}={day}")
        made.base("never", 9, partition=f"{column}=2020-01-01")
    aged = {"merged_rates": ["2024-12-31"], "copied_rates": ["2023-01-01", "2024-12-30"]}
    plan = partitions._plan(context(settings, "retain", clock))
    assert {name: [each.value for each in of_table] for name, of_table in plan.items()} == aged
    assert {(each.files, each.bytes, each.began) for of_table in plan.values() for each in of_table} == {(1, 1, at(2))}
    alone = partitions._plan(context(settings, "retain --table=copied_rates", clock))
    assert {name: [each.value for each in of_table] for name, of_table in alone.items()} == {
        "copied_rates": aged["copied_rates"]
    }
    named = "delete --table=merged_rates --partition=2025-01-02,2023-01-01,2025-01"
    plan = partitions._plan(context(settings, named, clock))
    assert [each.path for each in plan["merged_rates"]] == ["day=2025-01-02"]
    assert set(plan) == {"merged_rates"}


def folders(lake: Lake, table: str) -> set[str]:
    """The folders that hold a file of the table's newest state, by the Rust reader's own listing."""
    from hudi import HudiTableBuilder

    slices = HudiTableBuilder.from_base_uri(lake.path(table)).build().get_file_slices()
    return {each.base_file_relative_path().split("/")[0] for each in slices}


@pytest.mark.hudi
@pytest.mark.parametrize("table", ["copied_rates", "merged_rates"])
def test_old_days_go_by_the_clock_and_the_listing_is_what_is_there(
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
    assert partitions.needs_spark(context(lake.settings, "retain --yes"))
    done = lake.run("partitions", action="retain", clock=CLOCK, yes=True)
    assert (done.status, done.tables[0].table, done.tables[0].is_committed) == (DONE, table, True)
    kept = {(row["currency"], row["day"]): Decimal(1) for row in rows if row["day"] != DAYS[0]}
    assert rates_of(lake.rows_by_spark(table)) == rates_of(lake.rows(table)) == kept
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
