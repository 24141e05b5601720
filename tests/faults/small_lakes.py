"""A lake with one table, one mart and one expectation, and the jobs on it that write more than tables.

Sales of units arrive in batches; the table has the unit of each sale, the mart how many sales each unit has. Of the
first batch the tables are made; the second one moves sales to other units, and the third comes after the interruption.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import SparkSession

from spark_jobs.contracts.job_errors import GateStoppedError
from spark_jobs.contracts.settings import Settings
from spark_jobs.quality.holds import Holds
from spark_jobs.storage.consumers import ConsumerRegistry
from spark_jobs.storage.savepoints import SavepointRecords, record_id
from spark_jobs.storage.segment_index import FOLDER as ROW_INDEX
from spark_jobs.storage.timeline import Timeline
from tests.support.contexts import CLOCK
from tests.support.envelopes import line, sqlserver
from tests.support.lakes import SpecLake

_SPEC = """\
lake: small
source:
  topics: ["*.SALES"]
  key: sale_id
  columns:
    - {name: sale_id, source: SaleId, type: bigint}
    - {name: unit_id, source: UnitId, type: bigint}
log: sales_log
quarantine: quarantine
tables:
  - {name: sales, key: sale_id, columns: [unit_id], deletes: tombstone, buckets: 1}
marts: marts
expectations: expectations
"""
_MART = """\
name: unit_totals
layer: small
mode: aggregate
grain: [unit_id]
reads:
  - {table: sales}
"""
_MART_SQL = "SELECT unit_id, COUNT(*) AS sales FROM sales GROUP BY unit_id\n"
_EXPECTATIONS = """\
unit_is_known:
  says: A sale is of one of the company's units.
  column: unit_id
  between: [0, 99]
  action: stop
"""
_FILES = {
    "small.yaml": _SPEC,
    "marts/unit_totals.yaml": _MART,
    "marts/unit_totals.sql": _MART_SQL,
    "expectations/sales.yaml": _EXPECTATIONS,
}
LAYER = "small"
SAVEPOINT = record_id("day", CLOCK)
Units = dict[int, int]
"""The unit of each sale."""
FIRST: Units = {sale: sale % 2 for sale in range(10)}
SECOND: Units = dict.fromkeys(range(5, 15), 3)
THIRD: Units = dict.fromkeys(range(12, 20), 4)
UNKNOWN: Units = {3: 500}
"""A unit that is not known: an expectation stops it."""
BATCHES = (FIRST, SECOND, THIRD, UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallLake(SpecLake):
    """Such a lake, which serves its mart from a file of SQLite."""

    @property
    def settings(self) -> Settings:
        return replace(super(SmallLake, self).settings, serving_url=f"sqlite:///{self.folder / 'serving.db'}")

    def copy(self, folder: Path) -> SmallLake:
        """The same lake in another folder."""
        shutil.copytree(self.folder, folder, ignore=shutil.ignore_patterns(".leases"))
        return SmallLake(spark=self.spark, folder=folder, spec=folder / "small.yaml")

    def take_in(self, batch: Units) -> None:
        """Deliver a batch, and ingest it."""
        number = BATCHES.index(batch)
        rows = [{"SaleId": sale, "UnitId": unit} for sale, unit in batch.items()]
        self.land(f"{number}.jsonl", [line(sqlserver("u", row, 10 + number)) for row in rows])
        self.run("ingest")

    def split(self) -> None:
        """The log into the table; what is held back is no failure."""
        try:
            self.run("split")
        except GateStoppedError:
            return

    def refresh(self) -> None:
        """The mart."""
        self.run("mart", layer=LAYER)

    def serve(self) -> None:
        """The mart into the database."""
        self.run("serve", layer=[LAYER])

    def keep(self) -> None:
        """Take the savepoint."""
        self.run("savepoint", action="create", label="day", keep=None)

    def restore(self) -> None:
        """Go back to the savepoint."""
        self.run("restore", to=SAVEPOINT, yes=True)

    def accept(self) -> None:
        """Let the batch pass that is held back, and write it."""
        if Holds(self.settings).hold_of("sales"):
            self.run("publish", action="accept", table="sales", because="a new unit", by="test")
        self.split()

    def go_on(self, *, is_held: bool) -> None:
        """The next batch, through everything."""
        self.take_in(THIRD)
        if is_held:
            self.accept()
        for step in (self.split, self.refresh, self.serve):
            step()

    def assert_table_is(self, units: Units) -> None:
        """The table has these sales, by both readers."""
        for rows in (self.rows_by_spark("sales"), self.rows("sales")):
            assert Counter((row["sale_id"], row["unit_id"]) for row in rows) == Counter(units.items())

    def assert_mart_is(self, units: Units) -> None:
        """The mart counts these sales, by both readers."""
        for rows in (self.rows_by_spark("unit_totals"), self.rows("unit_totals")):
            assert Counter((row["unit_id"], row["sales"]) for row in rows) == _totals(units)

    def assert_served_is(self, units: Units) -> None:
        """The database has the mart of these sales and nothing half done."""
        with closing(sqlite3.connect(self.folder / "serving.db")) as database:
            assert Counter(database.execute("SELECT unit_id, sales FROM unit_totals")) == _totals(units)
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert tables == {"served_marts", "unit_totals"}

    def assert_kept(self) -> None:
        """The savepoint is of all tables, and Hudi keeps their states."""
        (record,) = SavepointRecords(self.settings).all()
        assert set(record.tables) == {"sales_log", "sales", "unit_totals"}
        for table, instant in record.tables.items():
            assert Timeline(table=table, path=self.path(table)).savepoints == {instant}

    def assert_consumers_are_back(self) -> None:
        """What consumers remember is what they remembered then."""
        (record,) = SavepointRecords(self.settings).all()
        found = {name: state.to_content() for name, state in ConsumerRegistry(self.settings.base_path).all().items()}
        assert {name: {**content, "moved": ()} for name, content in found.items()} == {
            name: {**content, "moved": ()} for name, content in record.consumers.items()
        }

    def assert_held(self, tables: Sequence[str]) -> None:
        """These tables are held, and no others."""
        holds = Holds(self.settings)
        assert [hold.table for hold in holds.held()] == list(tables)
        assert holds.accepted("sales") is None

    def left_over(self) -> Iterator[str]:
        """Files that no step has removed and nothing reads."""
        base = Path(self.settings.base_path)
        yield from (f"file {file.relative_to(base)}" for file in base.rglob("*.tmp"))
        index = base / ROW_INDEX / "small"
        known = json.loads((index / "manifest.json").read_bytes())["folders"]
        yield from (f"folder {folder.name} of the row index" for folder in index.glob("*/") if folder.name not in known)


def make_small_lake(spark: SparkSession, folder: Path) -> SmallLake:
    """An empty lake."""
    for name, text in _FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (folder / "landing").mkdir()
    return SmallLake(spark=spark, folder=folder, spec=folder / "small.yaml")


def _totals(units: Units) -> Counter[tuple[int, int]]:
    return Counter(Counter(units.values()).items())


LakeStep = Callable[[SmallLake], object]
