"""What syncs have done, kept beside the tables: whole ones and those of one table, against a plain account of it."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.catalogs import CatalogTable
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.catalog.synced import Synced, SyncedTables
from tests.support.made_tables import at

CLOCK = datetime(2026, 1, 2, tzinfo=UTC)
Brought = dict[str, int]


def table(name: str, number: int) -> CatalogTable:
    return CatalogTable(
        name=name, description="", location="", columns=(), partition_keys=(), input_format="", instant=at(number)
    )


@given(syncs=st.lists(st.tuples(st.dictionaries(st.sampled_from("abc"), st.integers(0, 9)), st.booleans()), max_size=6))
def test_the_last_sync_of_each_table_is_known(syncs: list[tuple[Brought, bool]]):
    expected: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        record = SyncedTables(Settings(base_path=folder))
        for brought, is_partial in syncs:
            record.remember([table(*each) for each in brought.items()], CLOCK, is_partial=is_partial)
            new: dict[str, str] = {name: at(number) for name, number in brought.items()}
            expected = {**expected, **new} if is_partial else new
        assert record.read() == Synced(at="2026-01-02T00:00:00Z" if syncs else "", instants=expected)


@pytest.mark.parametrize("content", ["", "[", "[]", "{}", '{"at": 1}'])
def test_what_cannot_be_read_is_no_sync(tmp_path: Path, content: str):
    (tmp_path / ".catalog").mkdir()
    (tmp_path / ".catalog/synced.json").write_text(content)
    assert SyncedTables(Settings(base_path=str(tmp_path))).read() == Synced(at="", instants={})
