"""Tables at the source without Hudi: hundreds of random histories of eight in one plan, against a plain fold.

What a step gives is laid over what the tables hold, as an upsert does, and the next step reads it from there: the order
of every value and of every delete has to survive in the tables themselves. ``partials`` takes null for nothing known
but in one column, ``names`` has some columns of the events of ``orders`` and ignores deletes, and ``ranges`` and
``bounds`` are in ranges of their keys. ``note`` and ``extra`` come to each table in the middle of its history. Events
are delivered in any order, some twice, and some of the oldest last.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.lake_spec.partitioning import Transform
from spark_jobs.lake_spec.schemas import Column
from spark_jobs.lake_spec.table_spec import Deletes, TableSpec
from spark_jobs.lake_spec.tables import Nulls
from spark_jobs.transforms.folding import fold_events, select_events
from spark_jobs.transforms.keyed_rows import MergedTable, merge_rows, width_of
from spark_jobs.transforms.row_orders import from_rows, from_tombstones, to_rows, to_tombstones
from tests.support.row_kinds import assert_kinds

pytestmark = pytest.mark.spark

HISTORIES, STEPS, WIDTH = 120, 3, 25
NOTE_ADDED, EXTRA_ADDED = "050-b", "060-a"
LATER = ("note", "extra")
RANGES = {"partition": "id", "transform": Transform.TRUNCATE, "width": WIDTH}
EVENT_SCHEMA = (
    "op string, event_order string, source_table string, row_types map<string,string>, "
    "row_values map<string,string>, row_unknown array<string>"
)


def column(source: str, type_: str) -> Column:
    added = {"note": NOTE_ADDED, "extra": EXTRA_ADDED}.get(source, "000-a")
    return Column(source=source, name=source.lower(), type=type_, added=added, since=added)


def mirror(name: str, key: tuple[str, ...], types: Mapping[str, str], **options: Any) -> MergedTable:
    spec = TableSpec(**{"name": name, "database": "shop", "table": name, "key": key, **options})
    of_all = {**types, "note": "string", "extra": "decimal(10,2)"}
    columns = tuple(column(*each) for each in of_all.items() if spec.takes(each[0]))
    return MergedTable(spec=spec, columns=columns, nulls=spec.nulls or Nulls.VALUE)


TABLES = (
    mirror("orders", ("Id",), {"Id": "bigint", "Name": "string", "total": "decimal(10,2)", "day": "date"}),
    mirror("carts", ("id",), {"id": "bigint", "text": "string"}, deletes=Deletes.REMOVE),
    mirror(
        "events",
        ("id",),
        {"text": "string", "id": "bigint", "day": "date"},
        partition="day",
        transform=Transform.MONTH,
    ),
    mirror(
        "lines",
        ("id", "line"),
        {"line": "int", "text": "string", "id": "string"},
        deletes=Deletes.REMOVE,
        partition="text",
    ),
    mirror(
        "partials",
        ("id",),
        {"id": "bigint", "text": "string", "day": "date"},
        nulls=Nulls.UNKNOWN,
        null_columns=(("day", Nulls.VALUE),),
    ),
    mirror(
        "names",
        ("Id",),
        {"Id": "bigint", "Name": "string"},
        table="orders",
        columns=("Name", "note"),
        deletes=Deletes.IGNORE,
    ),
    mirror("ranges", ("line", "id"), {"id": "bigint", "text": "string", "line": "int"}, **RANGES),
    mirror("bounds", ("id",), {"id": "bigint", "text": "string"}, deletes=Deletes.REMOVE, **RANGES),
)
BY_NAME = {table.name: table for table in TABLES}
TEXTS: Mapping[str, Sequence[str | None]] = {
    "string": ("a", "b/../c", "", None),
    "decimal(10,2)": ("1.10", "-0.01", None),
    "date": ("0", "20000", "20031", None),
    "bigint": ("7",),
    "int": ("1",),
}


@dataclass(frozen=True, kw_only=True)
class Event:
    """One event of a row; ``values`` are texts by column, ``unknown`` the columns of which none travelled."""

    table: str
    key: tuple[str, ...]
    op: str
    order: str
    values: Mapping[str, str | None]
    unknown: tuple[str, ...]

    def as_row(self) -> tuple[Any, ...]:
        types = {each.source: each.type for each in BY_NAME[self.table].columns}
        row_types = {name: types[name] for name in (*self.values, *self.unknown)}
        origin = BY_NAME[self.table].spec.origin
        return self.op, self.order, origin, row_types, dict(self.values), list(self.unknown) or None


def random_history(rng: random.Random, table: MergedTable, number: int) -> list[Event]:
    """Events of one row, each with an order of its own; a few have the position, and differ in the tie alone."""
    spec, events = table.spec, list[Event]()
    key = tuple(str(number) if name.lower() == "id" else "1" for name in spec.key)
    places = [f"{position:03d}-{tie}" for position in (1, 20, 40, 50, 51, 60, 80) for tie in "abc"]
    for order in rng.sample(places, rng.randint(1, 8)):
        values: dict[str, str | None] = {}
        unknown = list[str]()
        for each in table.columns:
            if order < each.added or (each.source in LATER and rng.random() < 0.2):
                continue  # not there yet, or there no more
            if each.source in spec.key:
                values[each.source] = key[spec.key.index(each.source)]
            elif each.source != spec.partition and rng.random() < 0.25:
                unknown.append(each.source)
            else:
                values[each.source] = rng.choice(TEXTS[each.type])
        event = Event(
            table=table.name,
            key=key,
            op=rng.choice("cuurdd"),
            order=order,
            values=values,
            unknown=tuple(unknown),
        )
        events.append(event)
    return events


@dataclass
class Fold:
    """What must be there after some events: live rows by table and key, and the newest delete of each key."""

    live: dict[str, dict[str, dict[str, Any]]] = field(default_factory=lambda: defaultdict(dict))
    deleted: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))

    @classmethod
    def of(cls, events: Iterable[Event], tables: Sequence[MergedTable]) -> Fold:
        done = cls()
        for event in sorted(events, key=lambda each: each.order):
            for table in tables:
                if table.spec.table == event.table:
                    done.take(event, table)
        return done

    def take(self, event: Event, table: MergedTable) -> None:
        key = event.key[0] if len(event.key) == 1 else json.dumps(event.key, separators=(",", ":"))
        live = self.live[table.name]
        if event.op == "d":
            if table.name != "names":
                live.pop(key, None)
                self.deleted[table.name][key] = event.order
            return
        row = live.setdefault(key, {each.name: None for each in table.columns})
        for each in table.columns:
            is_there = each.source in event.values or event.order >= each.added
            value = event.values.get(each.source)
            is_nothing = value is None and table.name == "partials" and each.source != "day"
            if is_there and each.source not in event.unknown and not is_nothing:
                row[each.name] = read(value, each.type)


def read(text: str | None, type_: str) -> Any:
    if text is None or type_ == "string":
        return text
    if type_ == "date":
        return date.fromordinal(date(1970, 1, 1).toordinal() + int(text))
    return Decimal(text) if type_.startswith("decimal") else int(text)


@dataclass
class Stored:
    """The tables and the tombstones, as upserts leave them: rows by key and partition."""

    spark: SparkSession
    rows: dict[str, dict[tuple[str, str], dict[str, Any]]] = field(default_factory=lambda: defaultdict(dict))
    schemas: dict[str, Any] = field(default_factory=dict)
    tombstones: dict[str, Any] = field(default_factory=dict)

    def step(self, events: Sequence[Event], tables: Sequence[MergedTable]) -> None:
        """Bring events in, and check what the merge counts of its rows."""
        width, before = width_of(tables), self._live(tables)
        events_df = self.spark.createDataFrame([event.as_row() for event in events], EVENT_SCHEMA)
        folded_df = fold_events(select_events(events_df, tables), tables, width)
        kept = [table.name for table in tables if table.spec.removes_rows]
        merged_df = merge_rows(folded_df, self._keyed(tables, width), keep_stored=kept).cache()
        for table in tables:
            rows_df = to_rows(merged_df, table)
            self.schemas[table.name] = rows_df.drop("_hoodie_is_deleted").schema
            for row in rows_df.collect():
                self._upsert(table, row.asDict())
        hard = [table.name for table in tables if table.spec.deletes is Deletes.REMOVE]
        for row in to_tombstones(merged_df, hard).collect():
            self.tombstones[row["tombstone"]] = row.asDict()
        assert_kinds(merged_df, tables, before, self._live(tables))
        merged_df.unpersist()

    def _live(self, tables: Sequence[MergedTable]) -> dict[str, set[str]]:
        return {t.name: {k for (k, _), row in self.rows[t.name].items() if not row["is_deleted"]} for t in tables}

    def _upsert(self, table: MergedTable, row: dict[str, Any]) -> None:
        place = (row["row_key"], row.get("row_partition", ""))
        if row.pop("_hoodie_is_deleted", False):
            assert place in self.rows[table.name], "what is taken out is there"
            del self.rows[table.name][place]
        else:
            self.rows[table.name][place] = row

    def _keyed(self, tables: Sequence[MergedTable], width: int) -> DataFrame | None:
        found_df: DataFrame | None = None
        for table in tables:
            if table.name not in self.schemas:
                continue
            schema = self.schemas[table.name]
            rows = [tuple(row.get(name) for name in schema.names) for row in self.rows[table.name].values()]
            keyed_df = from_rows(self.spark.createDataFrame(rows, schema), table, width)
            if table.spec.deletes is Deletes.REMOVE and self.tombstones:
                there = {key for key, _ in self.rows[table.name]}
                dead = [t for t in self.tombstones.values() if t["mirror"] != table.name or t["row_key"] not in there]
                schema_of = "tombstone string, mirror string, row_key string, deleted_order string"
                dead_df = self.spark.createDataFrame([tuple(each.values()) for each in dead], schema_of)
                keyed_df = keyed_df.unionByName(from_tombstones(dead_df, table.name, width))
            found_df = keyed_df if found_df is None else found_df.unionByName(keyed_df)
        return found_df

    def check(self, expected: Fold, tables: Sequence[MergedTable]) -> None:
        for table in tables:
            stored = self.rows[table.name]
            assert len({key for key, _ in stored}) == len(stored), f"{table.name}: a key is there twice"
            names = [each.name for each in table.columns]
            live = {k: {n: row.get(n) for n in names} for (k, _), row in stored.items() if not row["is_deleted"]}
            assert live == expected.live[table.name], table.name
            for (_, partition), row in stored.items():
                assert partition == partition_of(table, row)
            deleted = expected.deleted[table.name]
            if table.spec.deletes is Deletes.REMOVE:
                assert not any(row["is_deleted"] for row in stored.values())
                own = {t["row_key"]: t["deleted_order"] for t in self.tombstones.values() if t["mirror"] == table.name}
                # Of a row that came again, and is newer in every column, the time of its delete is not needed.
                assert own.keys() == deleted.keys(), table.name
                assert {k: v for k, v in own.items() if k not in live} == {
                    k: v for k, v in deleted.items() if k not in live
                }
            else:
                dead = {key: row["row_order"] for (key, _), row in stored.items() if row["is_deleted"]}
                assert dead == {key: order for key, order in deleted.items() if key not in live}, table.name


def partition_of(table: MergedTable, row: Mapping[str, Any]) -> str:
    if not table.spec.partition:
        return ""
    value = row[table.spec.partition]
    if table.spec.transform is Transform.TRUNCATE:
        return f"{value // WIDTH * WIDTH:019d}"
    if row["is_deleted"]:
        return "deleted"
    return "unknown" if value is None else str(value)[:7] if table.name == "events" else value.replace("/", "%2F")


def test_the_tables_are_the_fold_of_what_was_delivered_so_far_in_whatever_order(spark):
    rng = random.Random("mirrors")
    sources = [table for table in TABLES if table.spec.table == table.name]
    events = [e for table in sources for number in range(HISTORIES) for e in random_history(rng, table, number)]
    early = [event for event in events if event.order < NOTE_ADDED and rng.random() < 0.6]
    later = [event for event in events if event not in early]
    rng.shuffle(later)
    deliveries = [early, *(later[number :: STEPS - 1] for number in range(STEPS - 1))]
    stored, seen = Stored(spark=spark), list[Event]()
    for number, part in enumerate(deliveries):
        tables = TABLES if number else [without_later_columns(table) for table in TABLES]
        seen += part
        again = rng.sample(seen, len(seen) // 10)
        stored.step([*part, *again], tables)
        stored.check(Fold.of(seen, tables), tables)
    stored.step(rng.sample(events, len(events) // 2), TABLES)
    stored.check(Fold.of(events, TABLES), TABLES)


def without_later_columns(table: MergedTable) -> MergedTable:
    """As long as no event had them."""
    return replace(table, columns=tuple(each for each in table.columns if each.source not in LATER))
