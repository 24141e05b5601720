"""What events say of rows, kept step by step, and the versions that Spark finds in it, against a plain account.

Three tables are made of the same events of some keys: ``known`` takes null for nothing known, ``values`` for a value
but in the column ``c``, ``gone`` takes deleted rows out. Of an event a column may be missing. Events come in any order,
in two steps, some twice; times go back.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from functools import reduce

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.lake_spec.versions import HISTORY_KEY, history_columns, versions_select
from spark_jobs.pipelines.merge.tables import merged_tables
from spark_jobs.spec_files.spec_file import parse_lake_spec
from spark_jobs.transforms.folding import event_versions, select_events
from spark_jobs.transforms.histories import to_history
from spark_jobs.transforms.keyed_rows import width_of
from tests.support.oracle_versions import RowChange, in_order, versions_of

pytestmark = pytest.mark.spark

COLUMNS = ("a", "b", "c")
KINDS = {"known": {}, "values": {"nulls": {"default": "value", "columns": {"c": "unknown"}}}, "gone": {}}
TABLES = [
    {
        "name": name,
        "key": "id",
        "columns": [*COLUMNS],
        "deletes": "remove" if name == "gone" else "tombstone",
        "history": True,
        **more,
    }
    for name, more in KINDS.items()
]
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
        "tables": TABLES,
    }
)
MERGED = merged_tables(SPEC, {})
SCHEMA = "op string, event_order string, event_time timestamp, row_unknown array<string>, id bigint, " + ", ".join(
    f"{name} string" for name in COLUMNS
)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def random_events(rng: random.Random) -> list[RowChange]:
    """Events of five keys; in ``values`` null is what the event has, and what is not there did not travel."""
    return [
        RowChange(
            key=(rng.randrange(5),),
            order=f"{order:03d}",
            time=BEGIN + timedelta(minutes=rng.randrange(40)),
            is_delete=rng.random() < 0.2,
            values={name: rng.choice((None, "x", "y")) for name in COLUMNS if rng.random() < 0.7},
        )
        for order in rng.sample(range(200), 60)
    ]


def seen_by(name: str, event: RowChange) -> RowChange:
    """The event as the rule of the table's nulls has it."""
    is_value = {column: name == "values" and column != "c" for column in COLUMNS}
    says = {column: value for column, value in event.values.items() if value is not None or is_value[column]}
    return RowChange(key=event.key, order=event.order, time=event.time, is_delete=event.is_delete, values=says)


def rows_of(events: list[RowChange]) -> list[tuple[object, ...]]:
    return [
        (
            *("d" if event.is_delete else "u", event.order, event.time.replace(tzinfo=None)),
            *([name for name in COLUMNS if name not in event.values], *event.key),
            *(event.values.get(name) for name in COLUMNS),
        )
        for event in events
    ]


def test_versions_do_not_depend_on_how_events_were_delivered(spark):
    rng = random.Random(1)
    events = random_events(rng)
    delivered = [*events, *rng.choices(events, k=10)]
    rng.shuffle(delivered)
    steps = []
    for step in (delivered[:30], delivered[30:]):
        events_df = select_events(spark.createDataFrame(rows_of(step), SCHEMA), MERGED, has_times=True)
        steps.append(event_versions(events_df, MERGED, width_of(MERGED)))
    for table in MERGED:
        kept_df = reduce(DataFrame.unionByName, (to_history(versions_df, table) for versions_df in steps))
        stored_df = kept_df.dropDuplicates([HISTORY_KEY])
        assert kept_df.distinct().count() == stored_df.count(), "one event gives one row, whenever it comes"
        stored_df.createOrReplaceTempView("stored_history")
        columns = history_columns(table.spec, stored_df.columns)
        select = versions_select(table.spec, columns, SPEC, source="stored_history", quote="`")
        found = in_order(spark.sql(select).collect())
        assert found == versions_of((seen_by(table.name, event) for event in events), COLUMNS), table.name
    assert stored_df.where(F.col("is_deleted")).count() > 0
    plan = spark.sql(f"SELECT * FROM ({select}) WHERE id = 1")._jdf.queryExecution().optimizedPlan().toString()
    assert plan.rindex("Window [") < plan.rindex(" = 1)"), "one key is chosen before anything is sorted"
