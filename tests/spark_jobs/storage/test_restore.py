"""What a restore is about: tables made by hand, each with one commit, and a savepoint of before."""

from __future__ import annotations

from pathlib import Path

import yaml

from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.spec_file import load_lake_spec
from spark_jobs.storage.layouts import all_layouts
from spark_jobs.storage.restore import plan_restore
from spark_jobs.storage.savepoints import Record
from tests.support.loading_lakes import lake_document
from tests.support.made_tables import MadeTable


def test_every_table_of_data_goes_back_the_log_last(tmp_path: Path) -> None:
    path = tmp_path / "lake.yaml"
    path.write_text(yaml.safe_dump(lake_document()), encoding="utf-8")
    settings, spec = Settings(base_path=str(tmp_path / "lake"), lake_spec=str(path)), load_lake_spec(str(path))
    for layout in all_layouts(spec):
        MadeTable(layout, Path(settings.table_path(layout.name))).commits(1)
    before = Record(id="x", made_by="savepoint", made_at="2026-01-01T00:00:00Z", what="", tables={}, consumers={})
    ways = plan_restore(spec, before, settings)
    assert sorted(way.table for way in ways) == sorted(spec.data_tables)
    assert [way.table for way in ways][-2:] == [spec.quarantine, spec.log]
    assert {"merged_rates", "countries"} < {way.table for way in ways}


def test_a_table_whose_removal_was_cut_off_is_still_to_be_removed(tmp_path: Path) -> None:
    path = tmp_path / "lake.yaml"
    path.write_text(yaml.safe_dump(lake_document()), encoding="utf-8")
    settings, spec = Settings(base_path=str(tmp_path / "lake"), lake_spec=str(path)), load_lake_spec(str(path))
    file = Path(settings.table_path("countries"), "rows.parquet")
    file.parent.mkdir(parents=True)
    file.write_bytes(b"")
    before = Record(id="x", made_by="savepoint", made_at="2026-01-01T00:00:00Z", what="", tables={}, consumers={})
    assert [(way.table, way.back_to, way.commits) for way in plan_restore(spec, before, settings)] == [
        ("countries", None, 0)
    ]
