"""Files of earlier releases say what today's say: the same lake, with a notice for every old word and its line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.spec_files.spec_file import load_lake_spec

HEAD = """\
lake: shop
source:
  topics: ["shop*", SALES]
  key: sale_id
  columns:
    - {name: sale_id, source: SaleId, type: bigint}
    - {name: note, source: Note, type: string}
log: shop_log
quarantine: bad
"""
OLD = f"""{HEAD}tables:
  - {{name: sales, key: sale_id, columns: [note], follows_deletes: true}}
  - {{name: notes, key: sale_id, columns: [note], follows_deletes: false}}
mirrors:
  - {{name: carts, database: shop, table: Carts, key: [id], deletes: hard, mask: [email]}}
  - name: orders
    database: shop
    table: orders
    key: [id]
    deletes: soft
    columns:
      - {{name: amount, source: total, type: decimal, precision: 10, scale: 2}}
loads:
  - {{name: rates, key: [bank, day], operation: insert_overwrite, partition: day, keep_days: 9, columns: [
      {{name: bank, type: string}}, {{name: day, type: string}}]}}
"""
NEW = f"""{HEAD}tables:
  - {{name: sales, key: sale_id, columns: [note], deletes: tombstone}}
  - {{name: notes, key: sale_id, columns: [note]}}
  - {{name: carts, from: {{database: shop, table: Carts}}, key: [id], deletes: remove, mask: [email]}}
  - name: orders
    from: {{database: shop, table: orders}}
    key: [id]
    columns: all
    nulls: value
    declare:
      - {{name: amount, source: total, type: decimal, precision: 10, scale: 2}}
  - {{name: rates, key: [bank, day], partition: day, load: {{operation: insert_overwrite, keep_days: 9, columns: [
      {{name: bank, type: string}}, {{name: day, type: string}}]}}}}
"""


def read(folder: Path, text: str) -> LakeSpec:
    file = folder / "shop.yaml"
    file.write_text(text, encoding="utf-8")
    return load_lake_spec(str(file))


def test_old_words_mean_what_the_new_ones_say(tmp_path: Path):
    old, new = read(tmp_path, OLD), read(tmp_path, NEW)
    assert old == replace(new, notices=old.notices)
    assert [table.name for table in old.tables] == ["sales", "notes", "carts", "orders"]
    assert [load.name for load in old.loads] == ["rates"]
    assert new.notices == ()


def test_each_old_word_is_reported_with_its_line(tmp_path: Path):
    lines = OLD.splitlines()
    found = [notice.removeprefix(f"{tmp_path / 'shop.yaml'}:").split(": ", 1) for notice in read(tmp_path, OLD).notices]
    words = ["follows_deletes: true", "follows_deletes: false", "mirrors:", "loads:"]
    assert [(int(line), word in lines[int(line) - 1]) for (line, _), word in zip(found, words, strict=True)] == [
        (next(number for number, line in enumerate(lines, 1) if word in line), True) for word in words
    ]
    assert [text.split(";")[1].split()[0] for _, text in found] == ["write", "write", "list", "list"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("key: [id], deletes: hard", "key: [id], deletes: never", "'never' is unknown; choose one of ['tombstone'"),
        ("database: shop, table: Carts", "table: Carts", "from needs a database; give its name at the source"),
        ("    table: orders", "    table: 'or ders'", "'or ders' is no name of a table"),
        ("type: decimal, precision", "type: money, precision", "'money' is unknown; choose one of"),
        ("operation: insert_overwrite", "operation: replace", "'replace' is unknown; choose one of"),
    ],
)
def test_a_mistake_in_old_words_has_its_own_line(tmp_path: Path, old: str, new: str, message: str):
    assert old in OLD
    text = OLD.replace(old, new)
    with pytest.raises(ContractError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
    place = caught.value.each[0].place
    assert place is not None
    assert new in text.splitlines()[place.line - 1]
