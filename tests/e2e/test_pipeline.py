"""The pipeline through a real Airflow scheduler: two arrivals, a backfill of two dates, a task killed in the middle.

The tests build on each other's lake in this order; each leaves it equal to the generator's truth.
"""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from local_stack.chain import Chain
from local_stack.demo_data import generate
from local_stack.lake_view import check_lake, read_with_rust
from spark_jobs.contracts.arguments import parse_clock
from spark_jobs.storage.timeline import Timeline
from tests.support.processes import command_line, descendants, wait_until, wait_until_gone

if TYPE_CHECKING:
    from tests.e2e.conftest import Running

pytestmark = [pytest.mark.e2e, pytest.mark.services, pytest.mark.timeout(1500)]


def test_every_table_is_the_truth_by_both_readers(running: Running) -> None:
    assert check_lake(running.view(), running.truth(), running.spec) == []


def test_each_arrival_went_through_the_chain_once(running: Running) -> None:
    api = running.stack.airflow.api
    split, fast = ([r for r in running.runs if r.dag_id == d] for d in ("split_sales", "fast_layer"))
    assert [run.run_type for run in split].count("asset_triggered") == 2
    assert [run.run_type for run in fast].count("asset_triggered") == 2
    assert api.import_errors() == []


def test_asset_events_carry_the_instants(running: Running) -> None:
    api, views = running.stack.airflow.api, running.view()
    told = {name: [event["extra"] for event in api.asset_events(f"sales/{name}")] for name in views}
    for name, view in views.items():
        assert told[name][-1]["instant"] == view.instant, name
        assert len({extra["instant"] for extra in told[name]}) == len(told[name]), f"{name} was told twice"
    split = [event["extra"] for event in api.asset_events("sales/sales_log/split")]
    assert [extra["source"]["up_to"] for extra in split] == [extra["instant"] for extra in told["sales_log"]]
    assert split[-1]["instants"] == {table.name: views[table.name].instant for table in running.spec.tables}


def test_a_run_with_nothing_to_do_is_skipped_and_starts_nothing(running: Running) -> None:
    before = snapshot(running)
    runs_before = {dag_id: len(running.stack.airflow.api.runs(dag_id)) for dag_id in ("split_sales", "fast_layer")}
    chain = Chain(running.stack.airflow.api, tell=running.runs.append)
    chain.run_once()
    newest = running.stack.airflow.api.runs("ingest_sales")[0]
    assert [t["state"] for t in running.stack.airflow.api.tasks("ingest_sales", newest.run_id)] == ["skipped"]
    assert {d: len(running.stack.airflow.api.runs(d)) for d in runs_before} == runs_before
    assert snapshot(running) == before


@pytest.mark.parametrize("dag_id", ["split_sales", "fast_layer"])
def test_a_backfill_succeeds_and_changes_nothing(running: Running, dag_id: str) -> None:
    before, api = snapshot(running), running.stack.airflow.api
    newest = max(row["event_time"] for row in read_with_rust(running.settings.table_path("sales_log"))).date()
    dates = [(newest - timedelta(days=days)).isoformat() for days in (2, 1)]
    line = ["--dag-id", dag_id, "--from-date", dates[0], "--to-date", dates[1], "--max-active-runs", "5"]
    done = subprocess.run(
        [sys.executable, "-m", "airflow", "backfill", "create", *line],
        env=running.stack.airflow.environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]

    def backfills() -> list[str]:
        return [run.state for run in api.runs(dag_id) if run.run_type == "backfill"]

    wait_until(
        lambda: len(backfills()) == 2 and set(backfills()) == {"success"},
        "both dates end in success",
        limit_seconds=300,
    )
    tasks = [api.tasks(dag_id, run.run_id)[0] for run in api.runs(dag_id) if run.run_type == "backfill"]
    spans = sorted((parse_clock(task["start_date"]), parse_clock(task["end_date"])) for task in tasks)
    assert spans[0][1] <= spans[1][0], "two writers of one table at a time"
    Chain(api, tell=running.runs.append).wait()
    assert snapshot(running) == before


def test_a_killed_task_leaves_no_driver_and_its_retry_makes_it_good(running: Running) -> None:
    generate(["--resume", "--events", "500"], running.environ)
    api = running.stack.airflow.api
    scheduler = running.stack.folder.find("scheduler")
    assert scheduler is not None
    run_id = api.trigger("ingest_sales")
    driver: list[int] = []

    def has_driver() -> bool:
        lines = {pid: command_line(pid) for pid in descendants(scheduler.pid)}
        driver[:] = [pid for pid, line in lines.items() if "spark_jobs.entrypoint ingest" in line]
        return any("launcher.py" not in lines[pid] for pid in driver)

    wait_until(has_driver, "the driver runs")
    launcher = next(pid for pid in driver if "launcher.py" in command_line(pid))
    os.kill(parent_of(launcher), 9)
    wait_until_gone(driver)
    Chain(api, tell=running.runs.append).wait()
    assert [(task["state"], task["try_number"]) for task in api.tasks("ingest_sales", run_id)] == [("success", 2)]
    assert check_lake(running.view(), running.truth(), running.spec) == []


def snapshot(running: Running) -> dict[str, object]:
    """Instants and rows of every table."""
    paths = {name: running.settings.table_path(name) for name in running.spec.table_names}
    return {
        name: (Timeline(table=name, path=path).last, sorted(map(repr, read_with_rust(path))))
        for name, path in paths.items()
    }


def parent_of(pid: int) -> int:
    """The process that started ``pid``."""
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
