"""One lake, four readers: Spark, the Rust reader, Trino over a real Hive metastore, and the views that people query.

The lake is the shipped one with services that are always due. Of merge-on-read tables Trino reads ``_ro``: it
does not read log files. What is compared is every column of every row.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from local_stack.demos.engines import TrinoLake
from local_stack.demos.truth_check import same_rows
from local_stack.servers import trino_server
from spark_jobs.contracts.settings import Settings
from spark_jobs.jobs.checks import query_spark, run_checks
from spark_jobs.lake_spec.services import Service
from spark_jobs.pipelines.temporary_views import register_tables
from spark_jobs.spec_files.checks import load_checks
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.spec_files.views import load_views
from spark_jobs.storage.layouts import choose_layouts
from spark_jobs.storage.reader import read_stored
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit, fit_layout
from tests.support import planted_lake, planted_sql
from tests.support.lakes import PIPELINE, SpecLake
from tests.support.metastore import running_metastore
from tests.support.schedules import build_schedule
from tests.support.service_lakes import make_service_lake
from tests.support.trino import running_trino

pytestmark = [pytest.mark.services, pytest.mark.hudi, pytest.mark.slice(name="engines")]
DATABASE = "engines"
MERGED = "sales"
LATER = timedelta(days=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLake(SpecLake):
    """A lake in a metastore, and Trino over it."""

    uri: str
    trino: str

    @property
    def settings(self) -> Settings:
        return replace(super(ReadLake, self).settings, catalog=self.uri, catalog_database=DATABASE)

    @property
    def in_trino(self) -> TrinoLake:
        spec = load_lake_spec(self.settings.lake_spec)
        return TrinoLake(address=self.trino, database=DATABASE, spec=spec, settings=self.settings)

    @property
    def tables(self) -> list[str]:
        """Names of the tables that have a commit."""
        names = load_lake_spec(self.settings.lake_spec).table_names
        return [name for name in names if Timeline(table=name, path=self.path(name)).last]

    def take_in(self, number: int) -> None:
        """Land the round of this number and bring every layer on."""
        build_schedule(5, 0).land(self.folder / "landing", number)
        for job, options in (*PIPELINE, ("mart", {"layer": "stitch"}), ("mart", {"layer": "slow"})):
            self.run(job, **options)

    def serve(self, service: Service) -> None:
        """Run one service on every table that it is for, at a clock at which everything is old."""
        self.run("services", clock=datetime.now(UTC) + LATER, action="run", service=service.value, all=True)

    def differences(self) -> list[str]:
        """Between Trino and the Rust reader, once the catalog was brought up to date."""
        self.run("sync", action="apply")
        return self.in_trino.differences(self.tables)


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_metastore(tmp_path_factory.mktemp("metastore")) as uri:
        yield uri


@pytest.fixture(scope="module")
def trino(uri: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_trino(tmp_path_factory.mktemp("trino"), metastore=uri) as address:
        yield address


@pytest.fixture(scope="module")
def lake(spark: SparkSession, uri: str, trino: str, tmp_path_factory: pytest.TempPathFactory) -> ReadLake:
    """After two rounds: merge-on-read tables have log files. The tests below go on from each other.

    One table keeps the versions of its rows, and the view of them is compared too.
    """
    made = make_service_lake(spark, tmp_path_factory.mktemp("engines"), tables=())
    keep_history(made.spec, MERGED)
    lake = ReadLake(spark=spark, folder=made.folder, spec=made.spec, uri=uri, trino=trino)
    lake.take_in(0)
    lake.take_in(1)
    return lake


def keep_history(spec: Path, table: str) -> None:
    document = yaml.safe_load(spec.read_text(encoding="utf-8"))
    (entry,) = [each for each in document["tables"] if each["name"] == table]
    entry["history"] = True
    spec.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")


def test_every_table_has_the_same_rows_in_every_reader(lake: ReadLake):
    assert {MERGED, "sales_log", "fast_daily_deals", "stitch_agent_contracts"} <= set(lake.tables)
    assert lake.differences() == []
    for name in lake.tables:
        assert same_rows(name, lake.rows_by_spark(name), lake.rows(name)) == []
    base, whole = lake.in_trino.rows(f"{MERGED}_ro"), lake.rows(MERGED)
    assert same_rows(MERGED, base, whole), "the second round is in log files, which Trino does not read"


@pytest.mark.parametrize("service", [Service.COMPACTION, *(each for each in Service if each is not Service.COMPACTION)])
def test_and_after_every_service(lake: ReadLake, service: Service):
    lake.serve(service)
    assert lake.differences() == []
    assert same_rows(MERGED, lake.in_trino.rows(f"{MERGED}_ro"), lake.rows(MERGED)) == []


def test_views_say_in_trino_what_they_say_in_spark(lake: ReadLake):
    made = lake.in_trino.make_views()
    views = {view.name for view in load_views(Path(Settings().views_path))}
    assert len(views & made.statements.keys()) >= 5
    assert f"{MERGED}_versions" in made.statements
    assert not {table for lacking in made.missing.values() for table in lacking} & set(lake.tables)
    lake.run("query", sql="SELECT 1", rows=1)
    for name in made.statements:
        here = [row.asDict(recursive=True) for row in lake.spark.table(name).collect()]
        there = lake.in_trino.query(f"TABLE {name}", schema=made.database)
        assert same_rows(name, there, here, readers="Trino and Spark") == []
    assert any(row["agent_name"] for row in lake.in_trino.query("TABLE agent_contracts", schema=made.database))
    versions = lake.in_trino.query(f"TABLE {MERGED}_versions", schema=made.database)
    ended = [row for row in versions if row["valid_to"] is not None]
    assert ended
    assert len(versions) - len(ended) <= len({row["sale_id"] for row in versions})


def test_checks_find_in_trino_what_they_find_in_spark(lake: ReadLake):
    spec = load_lake_spec(lake.settings.lake_spec)
    checks = load_checks(Path(lake.settings.checks_path), spec)
    views = lake.in_trino.make_views()
    made = register_tables(lake.spark, spec, lake.settings)
    here = run_checks(checks, made, partial(query_spark, lake.spark), most=100)
    there = run_checks(checks, made, partial(lake.in_trino.query, schema=views.database), most=100)
    found = 0
    for one, other in zip(here, there, strict=True):
        assert (one.check, one.rows, one.missing) == (other.check, other.rows, other.missing)
        assert same_rows(one.check.id, other.samples, one.samples, readers="Trino and Spark") == []
        found += one.rows
    assert found, "the schedule has sales that were signed for nothing"


def test_every_check_finds_in_trino_what_breaks_it(lake: ReadLake):
    spec = load_lake_spec(lake.settings.lake_spec)
    trino_server.query(lake.trino, "CREATE SCHEMA IF NOT EXISTS planted")
    for table in planted_lake.ROWS:
        select = planted_sql.select(table, in_trino=True)
        trino_server.query(lake.trino, f'CREATE OR REPLACE VIEW "planted"."{table}" AS {select}')
    checks = load_checks(Path(lake.settings.checks_path), spec)
    for outcome in run_checks(checks, planted_lake.ROWS, partial(lake.in_trino.query, schema="planted"), most=100):
        found = Counter(tuple(sample[key] for key in outcome.check.keys) for sample in outcome.samples)
        assert found == Counter(planted_lake.FOUND[outcome.check.id]), outcome.check.id


def test_masked_views_name_no_person(lake: ReadLake):
    made = lake.in_trino.make_views(is_masked=True)
    plain = lake.in_trino.make_views()
    names = {row["agent_name"] for row in lake.in_trino.query("TABLE agents", schema=plain.database)} - {None}
    assert names
    for view in made.statements:
        rows = lake.in_trino.query(f"TABLE {view}", schema=made.database)
        assert len(rows) == len(lake.in_trino.query(f"TABLE {view}", schema=plain.database))
        assert not names & {value for row in rows for value in row.values() if isinstance(value, str)}
    assert {row["agent_name"] for row in lake.in_trino.query("TABLE sales_wide", schema=made.database)} <= {"***", None}


def test_while_a_writer_commits_commits_are_seen_whole(lake: ReadLake):
    columns = "_hoodie_commit_time AS instant, event_date, count(*) AS events"
    query = f"SELECT {columns} FROM {lake.in_trino.database}.sales_log GROUP BY 1, 2"
    known = {row["event_date"] for row in lake.rows("sales_log")}
    seen: list[dict[tuple[str, str], int]] = []

    def look() -> None:
        rows = trino_server.query(lake.trino, query, catalog=trino_server.TABLES)
        seen.append({(row["instant"], row["event_date"]): row["events"] for row in rows})

    writer = threading.Thread(target=lake.take_in, args=(2,))
    look()
    writer.start()
    while writer.is_alive():
        look()
    writer.join()
    look()
    for state in seen:
        instants = {instant for instant, _ in state}
        assert state == {cell: n for cell, n in seen[-1].items() if cell[0] in instants and cell[1] in known}
    assert len(seen) > 3
    assert seen[0].keys() < seen[-1].keys()


def test_a_new_column_is_seen_by_all(lake: ReadLake):
    layout = choose_layouts(load_lake_spec(lake.settings.lake_spec), "buildings")["buildings"]
    layout = fit_layout(layout, Timeline(table="buildings", path=lake.path("buildings")))
    rows_df = read_stored(lake.spark, lake.path("buildings"))
    rows_df = rows_df.withColumn("note", F.expr("IF(building_id > 0, 'new', NULL)"))
    commit(rows_df, layout, metadata={}, settings=lake.settings)
    lake.serve(Service.COMPACTION)
    assert lake.differences() == []
    assert "new" in {row["note"] for row in lake.in_trino.rows("buildings_ro")}
