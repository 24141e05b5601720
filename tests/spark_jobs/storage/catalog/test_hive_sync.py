"""A lake in a real Hive metastore: what a plan says is what Hudi's own sync then does, and nothing beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.catalogs import HELD, OWNER, SYNCED
from spark_jobs.contracts.errors import CatalogConflictError, SettingsError, TransientError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.expectations import Expectation, Kind
from spark_jobs.quality.holds import Holds
from spark_jobs.quality.verdicts import Outcome, Verdict
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.catalog.glue_inputs import table_input
from spark_jobs.storage.catalog.tables import find_partitions, find_tables
from spark_jobs.storage.layouts import choose_layouts
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit, fit_layout
from tests.support.lakes import PIPELINE, SpecLake
from tests.support.metastore import entry, metastore_client, partitions, running_metastore
from tests.support.schedules import build_schedule
from tests.support.service_lakes import make_service_lake

pytestmark = [pytest.mark.services, pytest.mark.hudi]


@dataclass(frozen=True, slots=True, kw_only=True)
class HiveLake(SpecLake):
    """A lake whose catalog is a metastore."""

    uri: str
    database: str

    @property
    def settings(self) -> Settings:
        known = super(HiveLake, self).settings
        return replace(known, catalog=self.uri, catalog_database=self.database)

    def sync(self, action: str = "apply", **options: Any) -> JobResult:
        return self.run("sync", action=action, **options)

    def entry(self, name: str) -> dict[str, Any]:
        return dict(entry(self.uri, name, self.database))

    def names(self) -> set[str]:
        with metastore_client(self.uri) as client:
            return set(client.get_all_tables(self.database))


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_metastore(tmp_path_factory.mktemp("metastore")) as uri:
        yield uri


@pytest.fixture(scope="module")
def shared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SpecLake:
    lake = make_service_lake(spark, tmp_path_factory.mktemp("hive"))
    land(lake, 0)
    return lake


@pytest.fixture
def lake(shared: SpecLake, uri: str, request: pytest.FixtureRequest) -> HiveLake:
    """The lake, and a database of the test's own."""
    database = request.node.name[:60]
    return HiveLake(spark=shared.spark, folder=shared.folder, spec=shared.spec, uri=uri, database=database)


def land(lake: SpecLake, number: int) -> None:
    build_schedule(5, 0).land(lake.folder / "landing", number)
    for job, options in PIPELINE:
        lake.run(job, **options)


def as_hudi_says_it(lake: HiveLake, described: dict[str, Any]) -> dict[str, Any]:
    """Of an entry what engines go by, in either catalog."""
    storage, parameters = described["StorageDescriptor"], described["Parameters"]
    schema = "".join(
        parameters[f"spark.sql.sources.schema.part.{n}"]
        for n in range(int(parameters["spark.sql.sources.schema.numParts"]))
    )
    compared = (OWNER, SYNCED, "EXTERNAL", "spark.sql.sources.provider", "spark.sql.sources.schema.numPartCols")
    return {
        "columns": [(each["Name"], each["Type"]) for each in storage["Columns"]],
        "keys": [(each["Name"], each["Type"]) for each in described["PartitionKeys"]],
        "formats": (storage["InputFormat"], storage["OutputFormat"], storage["SerdeInfo"]["SerializationLibrary"]),
        "place": (described["TableType"], storage["Location"].replace("file:///", "file:/")),
        "read optimized": storage["SerdeInfo"]["Parameters"]["hoodie.query.as.ro.table"],
        "parameters": {name: parameters.get(name) for name in compared},
        "spark": [(each["name"], each["type"]) for each in json.loads(schema)["fields"]],
    }


@pytest.mark.slice(name="engines")
def test_both_catalogs_say_the_same_of_every_table(lake: HiveLake):
    planned = lake.sync("plan")
    assert lake.names() == set()
    assert lake.sync().messages == planned.messages
    wanted = list(find_tables(load_lake_spec(lake.settings.lake_spec), lake.settings))
    assert lake.names() == {table.name for table in wanted}
    for table in wanted:
        in_glue = table_input(table, synced=table.instant)
        assert as_hudi_says_it(lake, lake.entry(table.name)) == as_hudi_says_it(lake, in_glue)
        if table.partition_keys:
            folders = find_partitions(load_lake_spec(lake.settings.lake_spec), lake.settings, table)
            assert partitions(lake.uri, table.name, lake.database) == set(folders.values())
    assert lake.sync().status == NOTHING_TO_DO
    assert lake.sync("plan").status == NOTHING_TO_DO


@pytest.mark.slice(name="engines")
def test_it_follows_commits_and_services(lake: HiveLake):
    lake.sync()
    land(lake, 1)
    assert {f"sales_{view}" for view in ("ro", "rt")} <= {m.split(":")[0] for m in lake.sync("plan").messages}
    lake.sync()
    assert lake.sync("plan").status == NOTHING_TO_DO
    lake.run("services", clock=datetime.now(UTC) + timedelta(days=2), action="run", table=None, service=None, all=True)
    assert lake.sync().status == DONE
    assert lake.sync("plan").status == NOTHING_TO_DO
    spec = load_lake_spec(lake.settings.lake_spec)
    for table in find_tables(spec, lake.settings):
        assert lake.entry(table.name)["Parameters"][SYNCED] == table.instant
        if table.partition_keys:
            folders = set(find_partitions(spec, lake.settings, table).values())
            assert partitions(lake.uri, table.name, lake.database) == folders
    keys = ("table", "partition_fields", "mode", "table.strategy")
    assert {lake.spark.conf.get(f"hoodie.datasource.hive_sync.{key}", None) for key in keys} == {None}


@pytest.mark.slice(name="engines")
def test_a_table_that_is_held_says_so_until_it_is_not(lake: HiveLake):
    lake.sync()
    assert lake.entry("units_ro")["Parameters"][HELD] == "no"
    known = Expectation(table="units", name="named", kind=Kind.NOT_NULL, columns=("unit_name",))
    stopped = Verdict(expectation=known, checked=9, broken=3, outcome=Outcome.STOPPED)
    Holds(lake.settings).hold("units", "split", [stopped], datetime(2026, 1, 2, 12, 30, tzinfo=UTC))
    held = "since 2026-01-02T12:30:00Z: named"
    assert lake.sync().messages == tuple(f"units_{view}: update: held: no to {held}" for view in ("ro", "rt"))
    assert {lake.entry(f"units_{view}")["Parameters"][HELD] for view in ("ro", "rt")} == {held}
    assert lake.entry("agents_ro")["Parameters"][HELD] == "no"
    Holds(lake.settings).let_go("units")
    lake.sync()
    assert lake.entry("units_rt")["Parameters"][HELD] == "no"
    assert lake.sync("plan").status == NOTHING_TO_DO


def test_a_new_column_is_carried_over(lake: HiveLake):
    lake.sync("apply", table="agents")
    layout = choose_layouts(load_lake_spec(lake.settings.lake_spec), "agents")["agents"]
    layout = fit_layout(layout, Timeline(table="agents", path=lake.path("agents")))
    rows_df = read_snapshot(lake.spark, lake.path("agents")).withColumn("note", F.expr("IF(agent_id > 0, 'new', NULL)"))
    kept = [name for name in rows_df.columns if not name.startswith("_hoodie_") or name == "_hoodie_is_deleted"]
    commit(rows_df.select(kept), layout, metadata={}, settings=lake.settings)
    planned = lake.sync("plan", table="agents")
    assert any("column note string added" in message for message in planned.messages)
    lake.sync("apply", table="agents")
    columns = lake.entry("agents_rt")["StorageDescriptor"]["Columns"]
    assert {"Name": "note", "Type": "string"} in columns
    assert lake.sync("plan", table="agents").status == NOTHING_TO_DO


def test_a_name_that_another_owner_has_is_refused_and_the_rest_goes_on(lake: HiveLake):
    lake.sync("apply", table="sales")
    with metastore_client(lake.uri) as client:
        foreign = client.get_table(lake.database, "sales_ro")
        foreign.parameters = {name: value for name, value in foreign.parameters.items() if name != OWNER}
        foreign.parameters[SYNCED] = "never"
        client.alter_table(lake.database, "sales_ro", foreign)
    before = lake.entry("sales_ro")
    assert lake.sync("plan").counters["refused"] == 1
    with pytest.raises(CatalogConflictError, match="sales_ro are not this lake's and were left"):
        lake.sync()
    assert lake.entry("sales_ro") == before
    assert {"sales_rt", "sales_log", "units_ro"} <= lake.names()


def test_a_table_that_the_lake_has_no_more_is_dropped_and_its_files_stay(lake: HiveLake):
    lake.sync("apply", table="units")
    with metastore_client(lake.uri) as client:
        for name, owner in (("old", "sales"), ("theirs", "hotels")):
            table = client.get_table(lake.database, "units_ro")
            table.tableName, table.parameters[OWNER] = name, owner
            client.create_table(table)
    assert lake.sync("apply", table="units").status == NOTHING_TO_DO
    assert "old: drop: the lake has no such table" in lake.sync().messages
    assert "old" not in lake.names()
    assert "theirs" in lake.names()
    assert list(Path(lake.path("units")).glob("*.parquet"))


def test_partitions_that_others_removed_are_found_on_request(lake: HiveLake):
    lake.sync("apply", table="sales_log")
    there = partitions(lake.uri, "sales_log", lake.database)
    with metastore_client(lake.uri) as client:
        client.drop_partition_by_name(lake.database, "sales_log", sorted(there)[0], False)
    assert lake.sync("apply", table="sales_log").status == NOTHING_TO_DO
    assert lake.sync("apply", table="sales_log", all=True).status == DONE
    assert partitions(lake.uri, "sales_log", lake.database) == there


def test_a_metastore_that_does_not_answer_may_be_tried_again(lake: HiveLake):
    gone = replace(lake, uri="thrift://127.0.0.1:9")
    for action in ("plan", "apply"):
        with pytest.raises(TransientError, match="no Hive metastore answers at thrift://127"):
            gone.sync(action)


def test_without_a_catalog_the_message_says_what_to_set(lake: HiveLake):
    with pytest.raises(SettingsError, match="set LAKEHOUSE_CATALOG to glue"):
        replace(lake, uri="").sync("plan")
