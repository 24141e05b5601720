"""What readers see of each kind of table: no tombstones, no event orders and no technical columns, and all the rest."""

from __future__ import annotations

import pytest

from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.table_spec import TECHNICAL
from spark_jobs.lake_spec.visible import hides_deleted, shown_columns
from spark_jobs.spec_files.spec_file import load_lake_spec, parse_lake_spec
from spark_jobs.storage.layouts import all_layouts
from spark_jobs.transforms.column_orders import table_columns

SALES = load_lake_spec(Settings().lake_spec)
SHOP = parse_lake_spec(
    {
        "lake": "shop",
        "source": {"topics": ["shop.*"]},
        "log": "shop_log",
        "quarantine": "shop_quarantine",
        "tables": [
            {"name": name, "from": {"database": "shop", "table": name}, "key": ["id"], "deletes": deletes, **more}
            for name, deletes, more in (
                ("orders", "tombstone", {}),
                ("carts", "remove", {}),
                ("events", "tombstone", {"partition": "day"}),
            )
        ],
    }
)
MIRRORS = tuple(mirror.name for mirror in SHOP.mirrors)


@pytest.mark.parametrize("table", [table.name for table in SALES.tables])
def test_of_a_table_of_newest_values_its_key_and_its_values(table: str):
    declared = SALES.table(table)
    stored = ("_hoodie_commit_time", *table_columns(declared))
    assert shown_columns(table, stored, SALES) == (*declared.key, *declared.columns)
    fewer = [name for name in stored if name != declared.columns[-1]]
    assert shown_columns(table, fewer, SALES) == (*declared.key, *declared.columns[:-1]), "written before it came"
    assert hides_deleted(table, SALES) is declared.follows_deletes


@pytest.mark.parametrize("table", MIRRORS)
def test_of_a_mirror_the_columns_of_the_source(table: str):
    stored = ("_hoodie_commit_time", *TECHNICAL, "id", "row_key_", "note_order", "_hoodie_is_deleted")
    assert shown_columns(table, stored, SHOP) == ("id", "row_key_", "note_order")
    assert hides_deleted(table, SHOP)


def test_of_marts_and_the_log_all_but_what_is_technical():
    for table in (*SALES.mart_names, SALES.log):
        stored = ("cell_id", "day", "row_order", "rows__count", "amount__sum", "_hoodie_file_name")
        assert shown_columns(table, stored, SALES) == ("day", "row_order")
        assert not hides_deleted(table, SALES)


@pytest.mark.parametrize("mirror", SHOP.mirrors, ids=MIRRORS)
def test_rows_are_taken_out_of_a_mirror_that_keeps_no_deletes_or_in_which_they_move(mirror):
    assert mirror.removes_rows is (mirror.name != "orders")
    layout = next(layout for layout in all_layouts(SHOP) if layout.name == mirror.name)
    assert layout.record_key == "row_key"
