"""The gates of several mirrors over one batch, against plain counts: each checks its own live rows alone.

``orders`` and ``carts`` have two expectations of their own each, some that stop and some that warn; of ``plain`` only
what its columns imply is expected, which is counted without a look at its typed rows. Rows that are deleted by the
batch, or taken out of a mirror, are not checked.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.row_counts import RowCounts
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.schemas import Column
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.pipelines.merge.gates import GateOutcome, Gates
from spark_jobs.quality.holds import Acceptance, Holds
from spark_jobs.spec_files.expectation_file import parse_expectation
from spark_jobs.spec_files.spec_file import parse_lake_spec
from spark_jobs.transforms.keyed_rows import SLOT_TYPE, WAS_LIVE, MergedTable, slot_names
from tests.support.contexts import context_of
from tests.support.shop_lakes import shop_spec

pytestmark = pytest.mark.spark

CLOCK = datetime(2026, 1, 2, tzinfo=UTC)
NAMES = ("carts", "orders", "plain", "quiet")
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "carts": {"note": "string", "id": "bigint"},
    "orders": {"id": "bigint", "total": "int", "note": "string"},
    "plain": {"line": "int", "total": "int", "id": "bigint", "note": "string"},
    "quiet": {"id": "bigint"},
}
EXPECTED: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "carts": {
        "noted": {"column": "note", "not_null": True},
        "not_13": {"holds": "id <> 13", "action": "stop"},
    },
    "orders": {
        "positive": {"column": "total", "between": [1, None], "action": "stop"},
        "known_note": {"column": "note", "one_of": ["a", "b"], "action": "stop"},
    },
}
DOCUMENT = shop_spec(
    {
        "name": name,
        "key": ["id", "line"] if name == "plain" else ["id"],
        "deletes": "remove" if name == "carts" else "tombstone",
    }
    for name in NAMES
)
Row = dict[str, Any]


def spec() -> LakeSpec:
    found = [parse_expectation(table, name, each) for table, of in EXPECTED.items() for name, each in of.items()]
    return parse_lake_spec(DOCUMENT, expectations=tuple(found))


SPEC = spec()
TABLES = tuple(
    MergedTable(
        spec=mirror,
        columns=tuple(
            Column(source=name, name=name, type=type_, added="1", since="1")
            for name, type_ in COLUMNS[mirror.name].items()
        ),
    )
    for mirror in SPEC.mirrors
)
WIDTH = max(map(len, COLUMNS.values()))


def changed(spark: SparkSession, rows: Mapping[str, Sequence[Row]]) -> DataFrame:
    """Merged keyed rows with what was stored of ``carts``, all of which were live."""
    slots = slot_names(WIDTH)
    stored = f"struct<row_order:string,{','.join(f'{slot}:string' for slot in slots)}>"
    schema = ", ".join(
        ["table string, key string, row_order string, deleted_order string"]
        + [f"{slot} {SLOT_TYPE}" for slot in slots]
        + [f"stored {stored}, {WAS_LIVE} boolean"]
    )
    found = []
    for name, of_table in rows.items():
        for row in of_table:
            key = str(row["id"]) if name != "plain" else json.dumps([str(row["id"]), str(row["line"])])
            order = ("2", None) if not row.get("is_deleted") else (None, "2")
            texts = [None if (value := row.get(c)) is None else str(value) for c in COLUMNS[name]]
            values = [None if row.get("is_deleted") else ("2", text) for text in texts]
            before = ("1", *([None] * WIDTH)) if name == "carts" else None
            found.append(
                (name, key, *order, *values, *([None] * (WIDTH - len(values))), before, True if before else None)
            )
    return spark.createDataFrame(found, schema)


def check(spark: SparkSession, rows: Mapping[str, Sequence[Row]], own: Settings) -> GateOutcome:
    gates = Gates(context=context_of("split", own, spec=SPEC, clock=CLOCK), tables=TABLES)
    return gates.check(changed(spark, rows), TABLES)


def rules_of(passed: GateOutcome, table: str) -> dict[str, tuple[int, int, str]]:
    rules = json.loads(passed.metadata[table]["quality"])["rules"]
    return {name: (checked, broken, outcome) for name, checked, broken, outcome, _, _ in rules}


def random_rows(rng: random.Random, name: str) -> list[Row]:
    keys = rng.sample(range(14), rng.randint(1, 8))
    return [
        {
            "id": key,
            "line": 1,
            "total": rng.choice((None, 0, 1, 2)),
            "note": rng.choice((None, "a", "b", "c")),
            "is_deleted": rng.random() < 0.3,
        }
        for key in keys
    ]


def broken_of(name: str, live: Sequence[Row]) -> dict[str, int]:
    """How many rows break each of a mirror's own expectations."""
    if name == "carts":
        return {"noted": sum(row["note"] is None for row in live), "not_13": sum(row["id"] == 13 for row in live)}
    if name == "orders":
        small = sum(row["total"] is not None and row["total"] < 1 for row in live)
        return {"positive": small, "known_note": sum(row["note"] == "c" for row in live)}
    return {}


@pytest.mark.parametrize("seed", range(3))
def test_each_mirror_passes_or_not_by_its_own_live_rows(spark, tmp_path: Path, seed: int):
    rng, own = random.Random(seed), Settings(base_path=str(tmp_path))
    rows = {name: random_rows(rng, name) for name in NAMES if name != "quiet"}
    passed = check(spark, rows, own)
    stops: dict[str, set[str]] = {}
    for name, of_table in rows.items():
        live = [row for row in of_table if not row["is_deleted"]]
        broken = broken_of(name, live)
        if stopped := {rule for rule, count in broken.items() if count and rule != "noted"}:
            stops[name] = stopped
            continue
        found = rules_of(passed, name)
        assert json.loads(passed.metadata[name]["quality"])["rows"] == {"written": len(of_table)}
        deleted, is_new = len(of_table) - len(live), name != "carts"
        known = RowCounts(added=len(live)) if is_new else RowCounts(changed=len(live), removed=deleted)
        assert RowCounts.from_json(passed.metadata[name]["row_counts"]) == known
        for rule, count in broken.items():
            assert found[rule] == (len(live), count, "warned" if count else "held")
        for column in COLUMNS[name]:
            is_key = column in (("id", "line") if name == "plain" else ("id",))
            nulls = 0 if is_key else sum(row[column] is None for row in live)
            assert found[f"{column}_is_known" if is_key else f"{column}_nulls_as_usual"] == (len(live), nulls, "held")
    assert passed.failed.keys() == stops.keys()
    assert passed.metadata.keys() == rows.keys() - stops.keys()
    held = {hold.table: set(hold.expectations) for hold in Holds(own).held()}
    assert held == stops, "each is held for all that it broke"


def test_what_a_person_accepted_of_one_mirror_lets_no_other_pass(spark, tmp_path: Path):
    own = Settings(base_path=str(tmp_path))
    bad_cart = {"id": 13, "note": "a"}
    bad_orders = [{"id": 1, "total": 0, "note": "c"}]
    word = Acceptance(table="orders", expectations=("positive",), because="so", by="Ada", at="now")
    Holds(own).accept(word)
    passed = check(spark, {"carts": [bad_cart], "orders": bad_orders}, own)
    assert passed.failed.keys() == {"carts", "orders"}, "the other expectation of orders was not accepted"
    Holds(own).accept(replace(word, expectations=("positive", "known_note")))
    passed = check(spark, {"carts": [bad_cart], "orders": bad_orders}, own)
    assert ({*passed.failed}, {*passed.metadata}) == ({"carts"}, {"orders"})
    found = rules_of(passed, "orders")
    assert (found["positive"], found["known_note"]) == ((1, 1, "accepted"), (1, 1, "accepted"))
