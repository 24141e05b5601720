"""Which instant of a mart the store has, as the lake knows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.serving.places import ServedPlaces
from spark_jobs.storage.timeline import Timeline
from tests.support.made_tables import MadeTable, at


def test_each_mart_has_a_place_of_its_own_that_counts_while_it_is_on_the_timeline(tmp_path: Path):
    settings = Settings(base_path=str(tmp_path))
    places = ServedPlaces(settings)
    layout = TableLayout(name="totals", record_key="cell_id", form=StorageForm.KEYED)
    MadeTable(layout, tmp_path / "totals").commits(2, 3, action="commit")
    timeline = Timeline(table="totals", path=settings.table_path("totals"))
    assert (places.read("totals"), places.is_on(timeline)) == (None, False)
    for number, is_on in ((1, False), (2, True), (3, True), (4, False)):
        places.write("totals", at(number))
        assert (places.read("totals"), places.is_on(timeline)) == (at(number), is_on)
    assert places.read("other") is None


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", "null", '{"place": "1"}'])
def test_a_file_that_cannot_be_read_is_no_place(tmp_path: Path, content: str):
    (tmp_path / ".serving").mkdir()
    (tmp_path / ".serving/totals.json").write_text(content)
    assert ServedPlaces(Settings(base_path=str(tmp_path))).read("totals") is None
