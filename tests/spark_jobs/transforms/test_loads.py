"""What becomes of every row of a load, for each operation, against a plain account: random files with repeated keys."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from pyspark.sql import functions as F

from spark_jobs.lake_spec.loads import LoadOperation, LoadSpec
from spark_jobs.spec_files.spec_file import parse_lake_spec
from spark_jobs.transforms.loads import FATE, Fate, select_rows, set_aside, with_fates, with_keys

pytestmark = pytest.mark.spark

SCHEMA = (
    "team string, month string, amount bigint, __file int, __at bigint, __read_from string, __reason string, "
    "__detail string, __raw binary"
)


def load_of(*key: str) -> LoadSpec:
    """The load ``budgets`` with this key."""
    document = {
        "lake": "shop",
        "source": {"topics": ["shop.*"]},
        "log": "shop_log",
        "quarantine": "shop_quarantine",
        "mirrors": [{"name": "orders", "database": "shop", "table": "orders", "key": ["id"]}],
        "loads": [
            {
                "name": "budgets",
                "key": list(key) if len(key) > 1 else key[0],
                "columns": [{"name": name, "type": "string"} for name in ("team", "month")]
                + [{"name": "amount", "type": "bigint"}],
            }
        ],
    }
    (load,) = parse_lake_spec(document).loads
    return load


@pytest.mark.parametrize(
    ("operation", "key"),
    [
        (LoadOperation.UPSERT, ("team",)),
        (LoadOperation.INSERT, ("team",)),
        (LoadOperation.INSERT, ("team", "month")),
        (LoadOperation.BULK_INSERT, ("team",)),
        (LoadOperation.INSERT_OVERWRITE, ("team", "month")),
        (LoadOperation.DELETE, ("team", "month")),
    ],
)
def test_every_row_has_the_fate_that_its_key_and_its_place_give_it(spark, operation, key):
    rng, load = random.Random(f"{key}/{operation}"), load_of(*key)
    places = [(file, at) for file in (1, 2, 10) for at in (0, 1, 9, 10, 11)]
    rows = []
    for file, at in rng.sample(places, len(places)):
        is_broken = rng.random() < 0.2
        team, month = rng.choice("abcd-"), rng.choice(("2026-01", "2026-02"))
        rows.append((None if is_broken else team, month, 1, file, at, "f", "broken" if is_broken else None, None, b"x"))
    rows_df = with_keys(spark.createDataFrame(rows, SCHEMA), load)
    stored_keys = {("a", "2026-01"), ("b", "2026-02"), ("-", "2026-01")}
    stored = [(team, month, 1, 0, 0, "f", None, None, b"x") for team, month in stored_keys]
    stored_df = with_keys(spark.createDataFrame(stored, SCHEMA), load).select(load.record_key).distinct()
    known = {(team, month)[: len(key)] for team, month in stored_keys}

    def key_of(row):
        return (row[0], row[1])[: len(key)]

    last = {}
    for row in sorted(rows, key=lambda row: row[3:5]):
        if row[6] is None:
            last[key_of(row)] = row[3:5]
    expected = {}
    for row in rows:
        if row[6] is not None:
            fate = Fate.REJECTED
        elif last[key_of(row)] != row[3:5]:
            fate = Fate.REPEATED
        elif operation.looks_up and (key_of(row) in known) is not (operation is LoadOperation.DELETE):
            fate = Fate.NEEDLESS
        else:
            fate = Fate.WRITTEN
        expected[row[3:5]] = fate.value
    found_df = with_fates(rows_df, load, operation, stored_df).cache()
    found = {(row["__file"], row["__at"]): row[FATE] for row in found_df.collect()}
    assert found == expected
    written = select_rows(found_df, load).collect()
    assert len(written) == Counter(expected.values())[Fate.WRITTEN.value]
    found_df.unpersist()
    empty = {row[FATE] for row in with_fates(rows_df, load, operation, None).collect()}
    assert (Fate.NEEDLESS.value in empty) is (operation is LoadOperation.DELETE)


def test_rows_are_set_aside_for_all_rules_that_they_break(spark):
    rows = [(team, "2026-01", 1, 1, at, "f", reason, detail, b"x") for at, (team, reason, detail) in enumerate(
        [("a", None, None), ("b", None, None), ("c", None, None), ("b", "not_typed", "amount")]
    )]  # fmt: skip
    broken = F.filter(
        F.array(F.when(F.col("team") == "b", "one"), F.when(F.col("team").isin("b", "c"), "other")),
        lambda name: name.isNotNull(),
    )
    found = [(r["__reason"], r["__detail"]) for r in set_aside(spark.createDataFrame(rows, SCHEMA), broken).collect()]
    assert found == [(None, None), ("broken_rule", "one, other"), ("broken_rule", "other"), ("not_typed", "amount")]
