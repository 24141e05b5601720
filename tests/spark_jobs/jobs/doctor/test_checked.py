"""The job ``doctor check`` on a lake made by hand: what it reports of which table, without an engine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import Settings
from spark_jobs.jobs import doctor
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState
from spark_jobs.storage.erasures import Erasures, Pending
from spark_jobs.storage.layouts import all_layouts
from tests.support.contexts import context_of, run_in
from tests.support.made_tables import MadeTable, at

LAYOUTS = {layout.name: layout for layout in all_layouts(load_lake_spec(Settings().lake_spec))}
LATER = datetime.now(UTC) + timedelta(days=1)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(base_path=str(tmp_path))


def make(settings: Settings, *tables: str) -> dict[str, MadeTable]:
    return {name: MadeTable(LAYOUTS[name], Path(settings.table_path(name))).commits(3, 4) for name in tables}


def reported(settings: Settings, **options: Any) -> list[tuple[str, str]]:
    context = context_of("doctor", settings, clock=LATER, action="check", **options)
    assert not doctor.needs_spark(context)
    result = run_in(context)
    assert result.counters == {"findings": len(result.messages), "repaired": 0}
    assert result.status == ("done" if result.messages else "nothing_to_do")
    return sorted((message.split(": ")[0], message.split(": ")[1]) for message in result.messages)


def test_nothing_is_reported_of_a_healthy_lake(settings: Settings):
    make(settings, *LAYOUTS)
    assert reported(settings) == []


def test_each_table_is_looked_at_and_one_of_another_version_stops_no_other(settings: Settings):
    made = make(settings, "units", "agents", "sales", "sales_log", "fast_daily_deals")
    (made["agents"].folder / ".hoodie/hoodie.properties").write_text("hoodie.table.version=9\n")
    made["units"].pending(5, "deltacommit")
    made["sales"].pending(5, "compaction").base("a", 9)
    made["fast_daily_deals"].commits(5, extraMetadata={"lakehouse.checkpoint.sales_log": at(8)})
    registry = ConsumerRegistry(settings.base_path)
    registry.write("report", ConsumerState(checkpoints={"sales": at(1), "units": at(4), "sales_log": at(9)}), LATER)
    Erasures(settings).begin(Pending(role="agent", id="17", names=()))
    (Path(settings.base_path) / ".consumers/split.json.0.tmp").touch()
    expected = [
        ("agents", "table version"),
        ("fast_daily_deals", "checkpoint"),
        ("lake", "temporary file"),
        ("lake", "unfinished erasure"),
        ("sales", "consumer"),
        ("sales", "orphan file"),
        ("sales", "pending plan"),
        ("sales_log", "consumer"),
        ("units", "pending write"),
    ]
    assert reported(settings) == expected
    of_lake = [each for each in expected if each[0] == "lake"]
    for table in ("agents", "sales", "sales_log", "units", "statuses"):
        assert reported(settings, table=table) == sorted([*of_lake, *(each for each in expected if each[0] == table)])
    with pytest.raises(ContractError, match="has no table 'orders'"):
        reported(settings, table="orders")
