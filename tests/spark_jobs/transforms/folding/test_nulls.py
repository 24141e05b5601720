"""Nulls, deletes and partitions of tables of the wide log: random histories against a plain fold.

Four tables are made of the same events of some keys: ``known`` takes null for nothing known, ``values`` for a value but
in the column ``c``, ``parts`` is partitioned by ``a``, which changes, and ``gone`` takes deleted rows out. Of an event
a column may be missing: then the event says nothing of it. Events come in any order, in steps, some twice; what a step
gives is stored and read again for the next one.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.pipelines.merge.tables import merged_tables
from spark_jobs.spec_files.spec_file import parse_lake_spec
from spark_jobs.transforms.folding import fold_events, select_events, with_unknown_nulls
from spark_jobs.transforms.keyed_rows import MergedTable, merge_rows, width_of
from spark_jobs.transforms.row_orders import from_tombstones, to_tombstones
from spark_jobs.transforms.stored_rows import from_stored, to_stored

pytestmark = pytest.mark.spark

COLUMNS = ("a", "b", "c")
SPEC = parse_lake_spec(
    {
        "lake": "things",
        "source": {
            "topics": ["THINGS"],
            "key": "id",
            "columns": [
                {"name": "id", "source": "Id", "type": "bigint"},
                *({"name": name, "source": name, "type": "string"} for name in COLUMNS),
            ],
        },
        "log": "log",
        "quarantine": "bad",
        "tables": [
            {"name": "known", "key": "id", "columns": [*COLUMNS], "deletes": "tombstone"},
            {
                "name": "values",
                "key": "id",
                "columns": [*COLUMNS],
                "deletes": "tombstone",
                "nulls": {"default": "value", "columns": {"c": "unknown"}},
            },
            {"name": "parts", "key": "id", "columns": [*COLUMNS], "nulls": "value", "partition": "a"},
            {"name": "gone", "key": "id", "columns": [*COLUMNS], "deletes": "remove"},
        ],
    }
)
TABLES = merged_tables(SPEC, {})
WIDTH = width_of(TABLES)
SCHEMA = "op string, event_order string, row_unknown array<string>, id bigint, a string, b string, c string"
Row = dict[str, str | None]


@dataclass(frozen=True, kw_only=True)
class Event:
    """One event; columns that are not in ``values`` did not travel."""

    op: str
    order: str
    key: int
    values: Row

    @property
    def as_row(self) -> tuple[Any, ...]:
        missing = [name for name in COLUMNS if name not in self.values]
        return self.op, self.order, missing or None, self.key, *(self.values.get(name) for name in COLUMNS)


def random_events(rng: random.Random, keys: int) -> list[Event]:
    events = []
    for key in range(keys):
        for order in rng.sample(range(100), rng.randint(1, 6)):
            travelled = [name for name in COLUMNS if rng.random() < 0.8]
            values: Row = {name: rng.choice(("x", "y", None)) for name in travelled}
            events.append(Event(op=rng.choice("cuud"), order=f"{order:03d}", key=key, values=values))
    return events


def fold(events: Iterable[Event], table: str) -> dict[int, Row]:
    """The live rows, by key."""
    live: dict[int, Row] = {}
    for event in sorted(events, key=lambda each: each.order):
        if event.op == "d":
            if table != "parts":
                live.pop(event.key, None)
            continue
        row = live.setdefault(event.key, dict.fromkeys(COLUMNS))
        for name, value in event.values.items():
            takes_null = table == "parts" or (table == "values" and name != "c")
            if value is not None or takes_null:
                row[name] = value
    return live


@dataclass
class Stored:
    """The stored rows of each table by key and partition, and what was deleted, as upserts leave them."""

    spark: SparkSession
    rows: dict[str, dict[tuple[str, str], tuple[Any, ...]]] = field(default_factory=dict)
    schemas: dict[str, Any] = field(default_factory=dict)
    tombstones: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    def step(self, events: Sequence[Event]) -> None:
        events_df = self.spark.createDataFrame([event.as_row for event in events], SCHEMA)
        folded_df = fold_events(select_events(events_df, TABLES), TABLES, WIDTH)
        kept = [table.name for table in TABLES if table.spec.removes_rows]
        merged_df = merge_rows(folded_df, self._keyed(), keep_stored=kept).cache()
        for table in TABLES:
            rows_df = to_stored(merged_df, table)
            self.schemas[table.name] = rows_df.drop("_hoodie_is_deleted").schema
            for row in rows_df.collect():
                self._upsert(table, row.asDict())
        for row in to_tombstones(merged_df, ["gone"]).collect():
            self.tombstones[row["row_key"]] = tuple(row)
        merged_df.unpersist()

    def live(self, table: MergedTable) -> dict[int, Row]:
        names = self.schemas[table.name].names
        rows = [dict(zip(names, row, strict=True)) for row in self.rows.get(table.name, {}).values()]
        shown = [row for row in rows if not row.get("is_deleted")]
        found = {row["id"]: {name: row[name] for name in COLUMNS} for row in shown}
        assert len(found) == len(shown), f"{table.name}: a key is there twice"
        return found

    def _upsert(self, table: MergedTable, row: dict[str, Any]) -> None:
        place = (str(row["row_key"] if table.spec.has_row_order else row["id"]), row.get("row_partition") or "")
        of_table = self.rows.setdefault(table.name, {})
        if row.pop("_hoodie_is_deleted", False):
            assert place in of_table, "what is taken out is there"
            del of_table[place]
        else:
            of_table[place] = tuple(row[name] for name in self.schemas[table.name].names)

    def _keyed(self) -> DataFrame | None:
        found_df: DataFrame | None = None
        for table in TABLES if self.schemas else ():
            stored_df = self.spark.createDataFrame([*self.rows.get(table.name, {}).values()], self.schemas[table.name])
            keyed_df = from_stored(stored_df, table, WIDTH)
            if table.name == "gone":
                there = {key for key, _ in self.rows.get("gone", {})}
                dead = [row for key, row in self.tombstones.items() if key not in there]
                schema = "tombstone string, mirror string, row_key string, deleted_order string"
                keyed_df = keyed_df.unionByName(
                    from_tombstones(self.spark.createDataFrame(dead, schema), "gone", WIDTH)
                )
            found_df = keyed_df if found_df is None else found_df.unionByName(keyed_df)
        return found_df


@settings(max_examples=1, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_what_null_means_is_as_declared_for_each_column(spark, seed):
    rng = random.Random(seed)
    events = random_events(rng, 100)
    rng.shuffle(events)
    stored, seen = Stored(spark=spark), list[Event]()
    for number in range(3):
        part = events[number::3]
        seen += part
        stored.step([*part, *rng.sample(seen, len(seen) // 10)])
        for table in TABLES:
            assert stored.live(table) == fold(seen, table.name), table.name


def test_rows_are_where_their_partition_says(spark):
    stored = Stored(spark=spark)
    stored.step([Event(op="c", order="1", key=1, values={"a": "x", "b": "y"})])
    assert [*stored.rows["parts"]] == [("1", "x")]
    stored.step([Event(op="u", order="2", key=1, values={"a": None})])
    assert [*stored.rows["parts"]] == [("1", "unknown")]
    assert fold([], "parts") == {}


def test_in_events_without_a_note_of_what_travelled_a_null_says_nothing(spark: SparkSession) -> None:
    rows = [("c", "001", None, 1, "x", "y", "z"), ("u", "002", None, 1, None, "w", None)]
    (values,) = (table for table in TABLES if table.name == "values")
    events_df = select_events(spark.createDataFrame(rows, SCHEMA), [values])
    for df, wanted in ((events_df, (None, "w", "z")), (with_unknown_nulls(events_df), ("x", "w", "z"))):
        (row,) = fold_events(df, [values], WIDTH).collect()
        assert tuple(row[slot]["value"] for slot in values.slots) == wanted
