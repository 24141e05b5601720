"""Entries of whole databases and of shards: what they mean, and every mistake by file, line and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_patterns import NewTables
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.spec_files.lake_check import check_lake
from spark_jobs.spec_files.spec_file import load_lake_spec

HEAD = "lake: shop\nsource: {topics: [shop*]}\nlog: log\nquarantine: bad\ntables:\n"
WHOLE = """\
  - name: shop_{table}
    from:
      database: shop
      table: "*"
      except: [tmp_*]
    key: {default: id, for: {lines: [order, line]}}
    new_tables: report
    type: copy_on_write
    mask: [email]
"""
MART = """\
name: totals
layer: fast
mode: full
grain: [day]
reads: [{table: shop_orders}]
"""
SQL = "SELECT day, SUM(total) AS total FROM shop_orders GROUP BY day\n"


def load(folder: Path, text: str) -> LakeSpec:
    path = folder / "lake.yaml"
    path.write_text(HEAD + text, encoding="utf-8")
    return load_lake_spec(str(path))


def test_words_of_an_entry_hold_for_each_table_that_it_finds(tmp_path: Path):
    lake = load(tmp_path, WHOLE)
    (pattern,) = lake.patterns
    assert [pattern.key_of(f"shop.{table}") for table in ("lines", "orders")] == [("order", "line"), ("id",)]
    assert pattern.new_tables is NewTables.REPORT
    made = pattern.table_of("shop.orders", name="shop_orders", key=("id",))
    assert (made.origins, made.type, made.mask) == (("shop.orders",), TableType.COPY_ON_WRITE, ("email",))
    found = {table: pattern.sources.has(f"shop.{table}") for table in ("orders", "tmp_1", "")}
    assert found == {"orders": True, "tmp_1": False, "": False}
    assert not pattern.sources.has("crm.orders")


def test_what_is_excepted_is_so_whatever_else_an_entry_says_of_its_place(tmp_path: Path):
    named = "{server: erp, database: A, schema: dbo, table: '*', except: [EXCEPT]}"
    text = f"  - {{name: 'shop_{{table}}', from: {named}, key: id}}\n"
    for excepted in ("audit", "DBO.AUDIT", "a.audit"):
        (pattern,) = load(tmp_path, text.replace("EXCEPT", excepted)).patterns
        found = {table: pattern.sources.has(f"erp/a/dbo.{table}") for table in ("audit", "sales")}
        assert found == {"audit": False, "sales": True}, excepted


def test_shards_have_their_origin_in_the_key(tmp_path: Path):
    text = "  - {name: orders, from: {database: [a, b], table: orders_?}, key: [id], origin: shard}\n"
    (table,) = load(tmp_path, text).tables
    assert [table.column_name(name) for name in table.key] == ["shard", "id"]
    assert [table.is_from(origin) for origin in ("b.orders_1", "b.orders_10", "c.orders_1")] == [True, False, False]


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("shop_{table}", "orders", 6, "from names several tables; put {table} into name for a table of each, or add"),
        ("shop_{table}", "Shop {table}", 6, "makes no snake_case identifiers; correct it"),
        ("database: shop", "database: [shop, crm]", 6, "put {database} into name"),
        (
            "except:",
            "without:",
            10,
            "from has 'without'; known are ['server', 'database', 'schema', 'table', 'except']",
        ),
        ('table: "*"', "table: [a b, c*]", 9, "table 'a b' is no name; correct it"),
        ("database: shop", "database: []", 7, "from needs a database; give its name at the source"),
        ("default: id", "defaults: id", 11, "key has 'defaults'; known are ['default', 'for']"),
        ("[order, line]", "[line, line]", 11, "give names, each once"),
        ("new_tables: report", "new_tables: make", 12, "new_tables 'make' is unknown; choose one of ['add', 'report'"),
        ("type: copy_on_write", "type: fast", 13, "type 'fast' is unknown; choose one of"),
        ("mask: [email]", "masks: [email]", 14, "unknown entries ['masks']; write mask"),
        ("mask: [email]", "mask: [id]", 14, "'id' is of the key, which has to stay; take it out"),
    ],
)
def test_a_mistake_has_its_line_and_what_to_do(tmp_path: Path, old: str, new: str, line: int, message: str):
    assert old in WHOLE
    with pytest.raises(ContractError) as caught:
        load(tmp_path, WHOLE.replace(old, new))
    assert message in str(caught.value)
    assert f"lake.yaml:{line}: " in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("table: o_*}, origin: shard", "missing 1 required keyword-only argument: 'key'"),
        ("table: o_*}, key: [id], origin: A", "origin 'A' is not a snake_case identifier"),
        ("table: o_*}, key: [id], origin: row_key", "'row_key' is taken; call it otherwise"),
        ("table: o}, key: [id], new_tables: add", "unknown entries ['new_tables']"),
    ],
)
def test_what_does_not_fit_together(tmp_path: Path, entry: str, message: str):
    with pytest.raises(ContractError) as caught:
        load(tmp_path, "  - {name: o, from: {database: a, " + entry + "}\n")
    assert message in str(caught.value)


def test_what_a_pattern_may_find_can_be_read_by_marts_and_is_no_mistake(tmp_path: Path):
    marts = tmp_path / "marts"
    marts.mkdir()
    (marts / "totals.yaml").write_text(MART, encoding="utf-8")
    (marts / "totals.sql").write_text(SQL, encoding="utf-8")
    lake = load(tmp_path, f"{WHOLE}marts: marts\n")
    assert lake.missing_reads(lake.mart("totals")) == ("shop_orders",)
    assert check_lake(tmp_path / "lake.yaml", "").mistakes == ()
    (marts / "totals.yaml").write_text(MART.replace("shop_orders", "crm_orders"), encoding="utf-8")
    with pytest.raises(ContractError, match=r"reads 'crm_orders', which is no table"):
        load(tmp_path, f"{WHOLE}marts: marts\n")
