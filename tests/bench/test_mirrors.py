"""The shop of many tables: its spec, and a life of four of them; and what a split took, of twenty seconds."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from bench.mirror_events import Shop
from bench.mirrors import Round, Watch, notes_of
from spark_jobs.lake_spec.table_spec import Deletes
from spark_jobs.spec_files.spec_file import load_lake_spec


def test_tables_of_a_shop_differ_and_its_spec_has_them_all(tmp_path: Path):
    shop = Shop(tables=12, rows=5)
    shop.write_spec(tmp_path / "lake.yaml")
    mirrors = load_lake_spec(str(tmp_path / "lake.yaml")).mirrors
    assert [mirror.name for mirror in mirrors] == [table.name for table in shop.all]
    assert {len(table.columns) for table in shop.all} == {7, 8, 9, 10, 11}
    assert {mirror.deletes for mirror in mirrors} == {Deletes.TOMBSTONE, Deletes.REMOVE}
    assert {bool(mirror.partition) for mirror in mirrors} == {True, False}


def test_a_life_has_a_row_of_every_key_and_then_changes_in_the_sources_order(tmp_path: Path):
    shop = Shop(tables=4, rows=50)
    assert shop.land_rows(tmp_path) == 200
    assert shop.land_changes(tmp_path, 0, 200) == 800
    rows = records(tmp_path / "shop.shop.table_001" / "snapshot.jsonl")
    assert [row["after"]["id"] for row in rows] == [*range(50)]
    assert {row["op"] for row in rows} == {"r"}
    changes = records(tmp_path / "shop.shop.table_002" / "round-0.jsonl")
    declared = changes[0]["schema"]["fields"][1]["fields"]
    bodies = [change["payload"] for change in changes]
    assert [field["field"] for field in declared] == [*bodies[0]["after" if bodies[0]["after"] else "before"]]
    ops = Counter(body["op"] for body in bodies)
    assert min(ops["c"], ops["u"], ops["d"]) > 0
    lsns = [body["source"]["lsn"] for body in bodies]
    assert lsns == sorted({*lsns})


def test_what_a_run_took_is_shown_by_part():
    together = watch(20.0, reads=[(0, 1)], folds=[(2, 18)], commits=[(6, 10), (7, 16)])
    alone = [watch(3.0, reads=[(0, 1)], folds=[(1, 3)], commits=[(2, 3)]) for _ in range(2)]
    assert [*together.parts] == [4, 6, 10]
    lines = notes_of([Round(ingest=Watch(megabytes=900), together=together, alone=alone)], 4)
    assert lines[0].endswith("5.00 and 10.00 in one split for all, 3.00 and 6.00 in one of its own.")
    assert lines[1] == "Reads of the log: 1 in one split for all, 4 in splits for each."
    assert lines[2].endswith("ingest 900 MB, one split for all 1,500 MB.")
    assert "4.0 s until the log is read, 6.0 s for the merge of all tables, 10.0 s for their commits" in lines[3]
    assert "2 of 4 tables" in lines[4]


def watch(seconds: float, *, reads: list[Any], folds: list[Any], commits: list[Any]) -> Watch:
    spans = {"read_pull": reads, "merge_events": folds, "_write": commits}
    return Watch(seconds=seconds, processor=2 * seconds, megabytes=1500, spans=spans)


def records(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_one_entry_finds_the_tables_of_a_shop_whose_records_all_carry_their_schema(tmp_path: Path):
    shop = Shop(tables=4, rows=5, is_found=True)
    shop.write_spec(tmp_path / "lake.yaml")
    assert [mirror.name for mirror in load_lake_spec(str(tmp_path / "lake.yaml")).mirrors] == []
    assert shop.land_rows(tmp_path) == 20
    assert shop.land_changes(tmp_path, 0, 5, first=2) == 10
    assert all("schema" in record for file in tmp_path.rglob("*.jsonl") for record in records(file))
    assert len([*tmp_path.rglob("round-0.jsonl")]) == 2
