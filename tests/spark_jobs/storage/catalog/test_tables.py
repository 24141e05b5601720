"""What a catalog says of a table that is loaded; the lake is that of tests.support.loading_lakes."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.catalog.tables import find_partitions, find_tables
from spark_jobs.storage.layouts import load_layout
from tests.support.loading_lakes import lake_document
from tests.support.made_tables import MadeTable


def test_its_columns_say_what_its_own_spec_says_and_its_partitions_are_known(tmp_path: Path) -> None:
    path = tmp_path / "lake.yaml"
    path.write_text(yaml.safe_dump(lake_document()), encoding="utf-8")
    settings, spec = Settings(base_path=str(tmp_path / "lake"), lake_spec=str(path)), load_lake_spec(str(path))
    made = MadeTable(load_layout(spec.load("copied_rates")), Path(settings.table_path("copied_rates")))
    fields = [{"name": name, "type": ["null", "string"]} for name in ("cell_id", "currency", "day", "rate")]
    schema = json.dumps({"type": "record", "name": "copied_rates", "fields": fields})
    made.commits(1, action="commit", extraMetadata={"schema": schema}).base("f", 1, partition="day=2026-01-01")
    (table,) = find_tables(spec, settings)
    assert [(key.name, key.comment) for key in table.partition_keys] == [("day", "of the bank")]
    assert find_partitions(spec, settings, table) == {"2026-01-01": "day=2026-01-01"}
