"""A lake in Glue, whose API is a real server (moto): what a plan says is what apply does, and nothing beside it.

The lake is made by hand: ``sales_log`` in days and ``sales``, merge-on-read. Instants are 1, 2, …
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.catalogs import HELD, OWNER, SYNCED
from spark_jobs.contracts.errors import CatalogConflictError, SettingsError, TransientError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO
from spark_jobs.lake_spec.expectations import Expectation, Kind
from spark_jobs.quality.holds import Holds
from spark_jobs.quality.verdicts import Outcome, Verdict
from tests.support.glue_api import GlueApi, running_glue
from tests.support.hand_made_lakes import LOG_COLUMNS, SALES_COLUMNS, HandMadeLake
from tests.support.made_tables import at

pytestmark = pytest.mark.services
RULE = Expectation(table="sales", name="amount_is_known", kind=Kind.NOT_NULL, columns=("contract_subtotal",))
STOPPED = Verdict(expectation=RULE, checked=9, broken=3, outcome=Outcome.STOPPED)


@pytest.fixture(scope="module")
def server() -> Iterator[GlueApi]:
    with running_glue() as api:
        yield api


@pytest.fixture
def api(server: GlueApi, monkeypatch: pytest.MonkeyPatch) -> GlueApi:
    """The server with nothing in it."""
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    server.refuse = lambda _: ""
    client = boto3.client("glue")
    for database in client.get_databases()["DatabaseList"]:
        client.delete_database(Name=database["Name"])
    server.forget()
    return server


@pytest.fixture
def lake(tmp_path: Path) -> HandMadeLake:
    """Two days in the log, and the first commit of the sales."""
    lake = HandMadeLake(tmp_path / "lake")
    log = lake.commit("sales_log", 1, LOG_COLUMNS)
    for number, day in enumerate(("2026-01-01", "2026-01-02")):
        log.base(f"f{number}", 1, partition=f"event_date={day}")
    lake.commit("sales", 1, SALES_COLUMNS).base("00000000", 1)
    return lake


def table(name: str, database: str = "sales") -> dict[str, Any]:
    found: dict[str, Any] = boto3.client("glue").get_table(DatabaseName=database, Name=name)["Table"]
    return found


def names(database: str = "sales") -> set[str]:
    return {each["Name"] for each in boto3.client("glue").get_tables(DatabaseName=database)["TableList"]}


def partitions(name: str = "sales_log") -> dict[str, dict[str, Any]]:
    pages = boto3.client("glue").get_paginator("get_partitions").paginate(DatabaseName="sales", TableName=name)
    return {each["Values"][0]: each for page in pages for each in page["Partitions"]}


def content() -> dict[str, Any]:
    """All that the catalog says, without the times at which it was written."""
    found = {name: table(name) for name in sorted(names())}
    kept = ("Parameters", "StorageDescriptor", "PartitionKeys", "Description", "TableType")
    stored: dict[str, Any] = {name: {key: each.get(key) for key in kept} for name, each in found.items()}
    stored["partitions"] = {value: each["StorageDescriptor"] for value, each in partitions().items()}
    return stored


def test_engines_find_every_table_as_hudis_own_sync_says_it(api: GlueApi, lake: HandMadeLake):
    assert lake.run().status == DONE
    assert names() == {"sales_log", "sales_ro", "sales_rt"}
    log, base, merged = table("sales_log"), table("sales_ro"), table("sales_rt")
    root = Path(lake.settings.base_path).as_uri()
    assert log["StorageDescriptor"]["Location"] == f"{root}/sales_log"
    assert [key["Name"] for key in log["PartitionKeys"]] == ["event_date"]
    assert [(c["Name"], c["Type"]) for c in log["StorageDescriptor"]["Columns"]][5:] == [
        ("event_id", "string"), ("sale_id", "bigint")
    ]  # fmt: skip
    assert {value: each["StorageDescriptor"]["Location"] for value, each in partitions().items()} == {
        day: f"{root}/sales_log/event_date={day}" for day in ("2026-01-01", "2026-01-02")
    }
    formats = {
        each["Name"]: each["StorageDescriptor"]["InputFormat"].rsplit(".", 1)[-1] for each in (log, base, merged)
    }
    assert formats == {
        "sales_log": "HoodieParquetInputFormat",
        "sales_ro": "HoodieParquetInputFormat",
        "sales_rt": "HoodieParquetRealtimeInputFormat",
    }
    assert "as of its last compaction" in base["Description"]
    comments = {c["Name"]: c["Comment"] for c in base["StorageDescriptor"]["Columns"]}
    assert comments["status_id_order"] == "event order of the value of status_id"
    assert {each["Parameters"]["spark.sql.sources.provider"] for each in (log, base, merged)} == {"hudi"}
    assert {each["Parameters"][SYNCED] for each in (log, base, merged)} == {at(1)}


def test_a_plan_changes_nothing_and_says_what_apply_does(api: GlueApi, lake: HandMadeLake):
    planned = lake.run("plan")
    assert api.writes == []
    assert lake.run("apply").messages == planned.messages
    assert planned.messages[0] == "sales: create database"
    api.forget()
    assert lake.run("apply").status == NOTHING_TO_DO
    assert lake.run("apply", all=True).status == NOTHING_TO_DO
    assert api.writes == []


def test_a_table_that_moved_costs_one_call_and_no_version(api: GlueApi, lake: HandMadeLake):
    lake.run()
    lake.commit("sales", 2, SALES_COLUMNS)
    api.forget()
    result = lake.run()
    assert result.messages == tuple(f"{name}: update: synced {at(1)} to {at(2)}" for name in ("sales_ro", "sales_rt"))
    assert [(name, given["SkipArchive"]) for name, given in api.calls if name == "UpdateTable"] == [
        ("UpdateTable", True)
    ] * 2
    assert "GetPartitions" not in [name for name, _ in api.calls]


def test_a_table_that_is_held_says_so_until_it_is_not(api: GlueApi, lake: HandMadeLake):
    lake.run()
    Holds(lake.settings).hold("sales", "split", [STOPPED], datetime(2026, 1, 2, 12, 30, tzinfo=UTC))
    assert lake.run().messages == tuple(f"{name}: update: parameters" for name in ("sales_ro", "sales_rt"))
    held = {table(name)["Parameters"][HELD] for name in ("sales_ro", "sales_rt")}
    assert (held, table("sales_log")["Parameters"][HELD]) == ({"since 2026-01-02T12:30:00Z: amount_is_known"}, "no")
    assert lake.run().status == NOTHING_TO_DO
    Holds(lake.settings).let_go("sales")
    lake.run()
    assert {table(name)["Parameters"][HELD] for name in names()} == {"no"}


def test_a_new_column_is_carried_to_all_partitions(api: GlueApi, lake: HandMadeLake):
    lake.run()
    lake.commit("sales_log", 2, {"event_id": "string", "sale_id": "long", "note": "string", "event_date": "string"})
    planned = lake.run("plan")
    assert lake.run().messages == planned.messages
    assert planned.messages[0] == "sales_log: update partitions: 2: 2026-01-01 to 2026-01-02"
    assert planned.messages[1].startswith("sales_log: update: column note string added")
    found = [table("sales_log"), *partitions().values()]
    assert {tuple(c["Name"] for c in each["StorageDescriptor"]["Columns"])[5:] for each in found} == {
        ("event_id", "sale_id", "note")
    }
    assert lake.run().status == NOTHING_TO_DO


def test_a_thousand_days_within_glues_limits(api: GlueApi, lake: HandMadeLake):
    log = lake.commit("sales_log", 2, LOG_COLUMNS)
    days = [f"{1000 + n}-01-01" for n in range(1000)]
    for day in days:
        log.base("f", 2, partition=f"event_date={day}")
    lake.run()
    assert set(partitions()) == {*days, "2026-01-01", "2026-01-02"}
    replaced = {f"event_date={day}": ["f"] for day in days[:60]}
    lake.commit("sales_log", 3, LOG_COLUMNS)
    log.commits(4, action="replacecommit", partitionToReplaceFileIds=replaced)
    lake.run()
    assert set(partitions()) == {*days[60:], "2026-01-01", "2026-01-02"}
    sizes = {
        name: [len(given["PartitionInputList"]) for call, given in api.calls if call == name]
        for name in ("BatchCreatePartition",)
    }
    assert max(sizes["BatchCreatePartition"]) == 100
    dropped = [len(given["PartitionsToDelete"]) for call, given in api.calls if call == "BatchDeletePartition"]
    assert dropped == [25, 25, 10]


def test_a_table_that_the_lake_has_no_more_is_dropped_and_no_one_elses(api: GlueApi, lake: HandMadeLake):
    client = boto3.client("glue")
    lake.run()
    for name, owner in (("old", "sales"), ("report", ""), ("theirs", "hotels")):
        client.create_table(
            DatabaseName="sales", TableInput={"Name": name, "Parameters": {OWNER: owner} if owner else {}}
        )
    assert lake.run("apply", table="sales_log").status == NOTHING_TO_DO
    assert lake.run().messages == ("old: drop: the lake has no such table",)
    assert names() == {"sales_log", "sales_ro", "sales_rt", "report", "theirs"}


@pytest.mark.parametrize("owner", [{}, {OWNER: "hotels"}])
def test_a_name_that_another_owner_has_is_refused_and_the_rest_goes_on(
    api: GlueApi, lake: HandMadeLake, owner: dict[str, str]
):
    client = boto3.client("glue")
    client.create_database(DatabaseInput={"Name": "sales"})
    client.create_table(DatabaseName="sales", TableInput={"Name": "sales_log", "Parameters": owner, "Description": "x"})
    before = table("sales_log")
    assert lake.run("plan").counters["refused"] == 1
    with pytest.raises(CatalogConflictError, match="sales_log are not this lake's and were left"):
        lake.run()
    assert table("sales_log") == before
    assert names() == {"sales_log", "sales_ro", "sales_rt"}


def test_what_others_add_to_an_entry_stays(api: GlueApi, lake: HandMadeLake):
    lake.run()
    client, found = boto3.client("glue"), table("sales_ro")
    keys = ("Name", "Description", "TableType", "PartitionKeys", "StorageDescriptor", "Parameters")
    changed = {key: found[key] for key in keys if key in found}
    changed["Parameters"] = {**found["Parameters"], "classification": "parquet"}
    client.update_table(DatabaseName="sales", TableInput=changed)
    assert lake.run().status == NOTHING_TO_DO
    lake.commit("sales", 2, SALES_COLUMNS)
    lake.run()
    assert table("sales_ro")["Parameters"]["classification"] == "parquet"


def test_partitions_that_others_removed_are_found_on_request(api: GlueApi, lake: HandMadeLake):
    lake.run()
    boto3.client("glue").delete_partition(DatabaseName="sales", TableName="sales_log", PartitionValues=["2026-01-01"])
    assert lake.run().status == NOTHING_TO_DO
    assert lake.run("apply", all=True).messages == ("sales_log: add partitions: 1: 2026-01-01",)
    assert set(partitions()) == {"2026-01-01", "2026-01-02"}


def test_other_partition_columns_need_a_new_entry(api: GlueApi, lake: HandMadeLake):
    lake.run()
    client, found = boto3.client("glue"), table("sales_log")
    keys = ("Name", "Description", "TableType", "StorageDescriptor", "Parameters")
    client.delete_table(DatabaseName="sales", Name="sales_log")
    client.create_table(
        DatabaseName="sales",
        TableInput={**{key: found[key] for key in keys}, "PartitionKeys": [{"Name": "day", "Type": "string"}]},
    )
    assert lake.run().messages[0] == "sales_log: drop: partitioned by other columns"
    assert [key["Name"] for key in table("sales_log")["PartitionKeys"]] == ["event_date"]
    assert lake.run("apply", all=True).status == NOTHING_TO_DO


def test_being_throttled_is_waited_for(api: GlueApi, lake: HandMadeLake):
    calls: list[str] = []

    def refuse(name: str) -> str:
        calls.append(name)
        return "ThrottlingException" if len(calls) % 3 == 0 else ""

    api.refuse = refuse
    lake.run()
    api.refuse = lambda _: ""
    assert len(calls) > len(api.calls)
    assert lake.run("apply", all=True).status == NOTHING_TO_DO


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(stop_at=st.integers(1, 12))
def test_one_that_is_cut_off_anywhere_is_taken_up_by_the_next(api: GlueApi, lake: HandMadeLake, stop_at: int):
    client = boto3.client("glue")
    for database in client.get_databases()["DatabaseList"]:
        client.delete_database(Name=database["Name"])
    done: list[str] = []

    def refuse(name: str) -> str:
        done.extend([name] if name.startswith(("Create", "Update", "Batch")) else [])
        return "AccessDeniedException" if len(done) >= stop_at else ""

    api.refuse = refuse
    with suppress(SettingsError):  # or it had come to its end before
        lake.run()
    api.refuse = lambda _: ""
    lake.run()
    cut_off = content()
    assert lake.run("apply", all=True).status == NOTHING_TO_DO
    client.delete_database(Name="sales")
    lake.run()
    assert content() == cut_off


def test_a_catalog_that_does_not_answer_may_be_tried_again(
    api: GlueApi, lake: HandMadeLake, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AWS_ENDPOINT_URL_GLUE", "http://127.0.0.1:9")
    monkeypatch.setattr("spark_jobs.storage.catalog.glue._ATTEMPTS", 1)
    with pytest.raises(TransientError, match="AWS Glue does not answer"):
        lake.run()


def test_the_statements_for_a_catalog_without_sync(lake: HandMadeLake, capsys: pytest.CaptureFixture[str]):
    assert lake.run("ddl", table="sales").counters == {"tables": 2}
    printed = capsys.readouterr().out
    assert printed.count("CREATE EXTERNAL TABLE IF NOT EXISTS") == 2
    assert "STORED AS INPUTFORMAT 'org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat'" in printed
    lake.run("ddl", table="sales_log")
    assert "PARTITION (`event_date` = '2026-01-02') LOCATION 'file:///" in capsys.readouterr().out
