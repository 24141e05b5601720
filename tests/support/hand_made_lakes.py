"""Tables of the shipped lake spec made by hand, commit by commit, without rows, for what reads timelines alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.lake_names import make_lake
from spark_jobs.storage.layouts import all_layouts
from tests.support.contexts import context_of, run_in
from tests.support.made_tables import MadeTable

LOG_COLUMNS = {"event_id": "string", "sale_id": "long", "event_date": "string"}
SALES_COLUMNS = {"sale_id": "long", "status_id": "long", "status_id_order": "string", "is_deleted": "boolean"}


class HandMadeLake:
    """Tables of the shipped spec without their rows."""

    def __init__(self, folder: Path) -> None:
        self.settings = Settings(base_path=str(folder), lease_wait_seconds=1, catalog="glue")
        spec = load_lake_spec(self.settings.lake_spec)
        make_lake(spec.lake, self.settings, may_adopt=True)
        self.layouts = {layout.name: layout for layout in all_layouts(spec)}
        self.tables: dict[str, MadeTable] = {}

    def commit(self, table: str, number: int, columns: dict[str, str]) -> MadeTable:
        made = self.tables.get(table) or MadeTable(self.layouts[table], Path(self.settings.table_path(table)))
        self.tables[table] = made
        fields = [{"name": name, "type": ["null", kind]} for name, kind in columns.items()]
        schema = json.dumps({"type": "record", "name": table, "fields": fields})
        return made.commits(number, extraMetadata={"schema": schema})

    def run(self, action: str = "apply", **options: Any) -> JobResult:
        return run_in(context_of("sync", self.settings, action=action, **options))
