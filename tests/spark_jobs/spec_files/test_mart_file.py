"""Files of marts: ``orders_of_day.yaml`` below with its SQL beside it, and every mistake in it as one clear line."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.lake_spec.marts import MartMode, MartSpec, ReadSpec, TimeSpec, TimeUnit, WindowSpec
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.spec_files.mart_file import load_mart, load_marts

DECLARED = """\
name: orders_of_day
layer: fast
mode: scoped
grain: [day, city]
scope: day
time: {column: day, unit: day}
window: {length: 2, unit: day}
partition: day
type: merge_on_read
buckets: 3
reads:
  - {table: orders, scope: date(paid_at), partition: "string(day)"}
  - {table: buyers, by: buyer_id}
"""
SQL = "SELECT date(paid_at) AS day, city FROM orders LEFT JOIN buyers USING (buyer_id)\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "orders_of_day.sql").write_text(SQL)
    (tmp_path / "orders_of_day.yaml").write_text(DECLARED)
    return tmp_path / "orders_of_day.yaml"


def test_a_declaration_becomes_a_mart(path):
    assert load_mart(path) == MartSpec(
        name="orders_of_day",
        layer="fast",
        mode=MartMode.SCOPED,
        grain=("day", "city"),
        scope="day",
        time=TimeSpec(column="day", unit=TimeUnit.DAY),
        window=WindowSpec(length=2, unit=TimeUnit.DAY),
        partition="day",
        type=TableType.MERGE_ON_READ,
        buckets=3,
        reads=(
            ReadSpec(table="orders", scope="date(paid_at)", partition="string(day)"),
            ReadSpec(table="buyers", by="buyer_id"),
        ),
        sql=SQL,
    )


def test_what_need_not_be_declared(tmp_path):
    (tmp_path / "a.yaml").write_text("{layer: slow, grain: [x], reads: [{table: orders}]}")
    (tmp_path / "a.sql").write_text("SELECT 1 AS x FROM orders")
    declared = load_mart(tmp_path / "a.yaml")
    assert (declared.name, declared.mode) == ("a", MartMode.FULL)
    assert (declared.type, declared.buckets, declared.rules) == (TableType.COPY_ON_WRITE, 1, False)
    assert (declared.time, declared.window, declared.scope, declared.partition) == (None, None, "", "")


def test_a_folder_gives_its_marts_by_file_name(path):
    for name in ("z", "a"):
        (path.parent / f"{name}.yaml").write_text(
            f"{{name: {name}, layer: x, mode: full, grain: [x], reads: [{{table: t}}]}}"
        )
        (path.parent / f"{name}.sql").write_text("SELECT 1 AS x FROM t")
    (path.parent / "notes.md").write_text("not a mart")
    assert [declared.name for declared in load_marts(path.parent)] == ["a", "orders_of_day", "z"]
    with pytest.raises(SettingsError, match="there is no folder"):
        load_marts(path.parent / "nowhere")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: orders_of_day", "name: orders_of_month", "give the file's own, 'orders_of_day', or none"),
        ("name: orders_of_day", "name:", "name is None; give the file's own, 'orders_of_day', or none"),
        ("layer: fast\n", "", "missing 1 required keyword-only argument: 'layer'"),
        ("layer: fast", "layer: 7", "layer is 7; give text"),
        ("mode: scoped", "mode: daily", "'daily' is unknown; choose one of ['append', 'aggregate', "),
        ("mode: scoped\n", "", "scope is needed in mode scoped, and means nothing in another"),
        ("mode: scoped", "mode: full", "scope is needed in mode scoped, and means nothing in another"),
        ("grain: [day, city]", "grain: day", "grain is 'day'; give a list of names"),
        ("grain: [day, city]", "grain: [1]", "grain is (1,); give a list of names"),
        ("time: {column: day, unit: day}", "time: day", "time must be a mapping"),
        ("time: {column: day, unit: day}", "time: {column: day}", "time: unit is not given"),
        ("time: {column: day, unit: day}", "time: {unit: day}", "missing 1 required keyword-only argument: 'column'"),
        ("length: 2, unit: day", "length: two, unit: day", "window: length is 'two'; give a whole number"),
        ("length: 2, unit: day", "length: 2, unit: week", "window: unit 'week' is unknown; choose one of"),
        ("length: 2, unit: day", "length: 2, unit: day, from: 1", "window: unknown entries ['from']"),
        ("type: merge_on_read", "type: heap", "'heap' is unknown; choose one of"),
        ("buckets: 3", "buckets: many", "buckets is 'many'; give a whole number"),
        ("buckets: 3", "rules: 1", "rules is 1; give true or false"),
        ("buckets: 3", "bukkets: 3", "unknown entries ['bukkets']"),
        ("buckets: 3", "sql: SELECT 1", "its SQL is in the file beside this one; take the entry sql out"),
        ("reads:\n", "reads: orders\nreads_:\n", "reads must be a list"),
        ("  - {table: buyers, by: buyer_id}", "  - buyers", "a read must be a mapping of names to values"),
        ("by: buyer_id", "key: buyer_id", "a read: unknown entries ['key']"),
        ("{table: buyers, by", "{by", "a read: missing 1 required keyword-only argument: 'table'"),
        ("by: buyer_id", "by: 7", "a read: by is 7; give text"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_file(path, old, new, message):
    assert old in DECLARED
    path.write_text(DECLARED.replace(old, new, 1))
    with pytest.raises(ContractError) as caught:
        load_mart(path)
    assert str(caught.value).startswith(f"{path}:")
    assert "\n" not in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize("text", ["", "- a\n", "scoped", "7"])
def test_documents_that_are_no_mart(path, text):
    path.write_text(text)
    with pytest.raises(ContractError, match=r"orders_of_day\.yaml:1: the file must be a mapping"):
        load_mart(path)


def test_files_that_cannot_be_read(path):
    path.write_text("name: [")
    with pytest.raises(SettingsError, match=r"mart .*orders_of_day\.yaml cannot be read .*; correct it"):
        load_mart(path)
    path.write_bytes(b"name: \xff\xfe")
    with pytest.raises(SettingsError, match="cannot be read"):
        load_mart(path)
    path.write_text(DECLARED)
    path.with_suffix(".sql").unlink()
    with pytest.raises(
        SettingsError, match=r"mart orders_of_day needs its SQL in .*orders_of_day\.sql .*; write it there"
    ):
        load_mart(path)
