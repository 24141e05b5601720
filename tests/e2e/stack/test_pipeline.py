"""The pipeline through a real Airflow scheduler: an arrival and a run with nothing to do; in a slice the rest.

The tests build on each other's lake in this order; each leaves it equal to the generator's truth and to the oracles.
The slice has backfills and a task that is killed, after which the slow layer has its turn with the next events.
"""

from __future__ import annotations

import json
import os
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from local_stack.demos.demo_data import generate
from local_stack.demos.lake_view import check_lake, read_with_rust
from local_stack.demos.layer_changes import read_marts
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.task_runs import parse_task
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import TASK_KEY
from tests.support.backfills import assert_one_at_a_time, backfill_states, create_backfill
from tests.support.commands import run
from tests.support.processes import command_line, descendants, read_stat, wait_until, wait_until_gone

if TYPE_CHECKING:
    from tests.e2e.stack.conftest import Running

pytestmark = [pytest.mark.e2e, pytest.mark.services, pytest.mark.timeout(1500)]
OTHERS = pytest.mark.slice(name="airflow-backfills")


def test_every_table_is_the_truth_by_both_readers(running: Running) -> None:
    assert check_lake(running.view(), running.truth(), running.spec) == []


def test_every_layer_is_what_its_oracle_says(running: Running) -> None:
    assert running.differing_marts() == {}


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("checks", "run"), marks=OTHERS),
        ("freshness",),
        ("publish", "list"),
        ("quarantine", "list"),
    ],
    ids=" ".join,
)
def test_nothing_is_wrong_with_it(running: Running, words: tuple[str, ...]) -> None:
    """No row breaks a shipped check, every table is as fresh as it promises, nothing is held back."""
    environment = {**running.environ, "LAKEHOUSE_SPARK_REMOTE": running.stack.spark_remote}
    ended, output, errors = run(*words, environment=environment)
    assert ended == 0, errors
    counters = json.loads(output.splitlines()[-1])["counters"]
    assert counters.get("late", 0) == counters.get("broken", 0) == 0, output


def test_the_live_answers_are_served(running: Running) -> None:
    """The store is the connection's database; it holds the marts' rows as of their last instants."""
    rows = read_marts(running.spec, running.settings)
    with sa.create_engine(running.serving_url, poolclass=sa.NullPool).connect() as store:
        for mart in ("fast_hourly_events", "fast_daily_deals", "stitch_agent_contracts"):
            counted = store.exec_driver_sql(
                f'SELECT count(*), min(instant), min(row_count) FROM "{mart}" JOIN served_marts ON mart = %s', (mart,)
            )
            served = tuple(counted.one())
            instant = Timeline(table=mart, path=running.settings.table_path(mart)).last
            assert served == (len(rows[mart]), instant, len(rows[mart])), mart
            assert rows[mart], mart


def test_a_run_with_nothing_to_do_is_skipped_and_starts_nothing(running: Running) -> None:
    before = running.snapshot()
    followers = ("split_sales", "fast_layer", "stitch_layer")
    runs_before = {dag_id: len(running.stack.airflow.api.runs(dag_id)) for dag_id in followers}
    running.chain.run_once()
    newest = running.stack.airflow.api.runs("ingest_sales")[0]
    tasks = running.stack.airflow.api.tasks("ingest_sales", newest.run_id)
    assert {task["task_id"]: task["state"] for task in tasks} == {"ingest": "skipped", "quality": "skipped"}
    assert {d: len(running.stack.airflow.api.runs(d)) for d in runs_before} == runs_before
    assert running.snapshot() == before


@OTHERS
def test_backfills_succeed_and_change_nothing(running: Running) -> None:
    """Of every DAG that takes dates, all begun at once; two days where no other test backfills several."""
    before, api = running.snapshot(), running.stack.airflow.api
    days = {"split_sales": 2, "fast_layer": 2, "stitch_layer": 1, "slow_layer": 1}
    for dag_id, first in days.items():
        start_backfill(running, dag_id, days_ago=(first, 1))
    succeeded = {dag_id: ["success"] * count for dag_id, count in days.items()}
    wait_until(
        lambda: {dag_id: backfill_states(api, dag_id) for dag_id in days} == succeeded,
        "all of them succeed",
        limit_seconds=900,
    )
    for dag_id in days:
        assert_one_at_a_time(api, dag_id)
    running.chain.wait()
    assert running.snapshot() == before
    assert running.differing_marts() == {}


@OTHERS
def test_a_killed_task_leaves_no_driver_and_its_retry_makes_it_good(running: Running) -> None:
    generate(["--resume", "--events", "200"], running.environ)
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
    task = int(read_stat(launcher)[1])  # the parent
    os.kill(task, 9)
    wait_until_gone(driver)
    running.chain.wait()
    tasks = {task["task_id"]: task for task in api.tasks("ingest_sales", run_id)}
    assert (tasks["ingest"]["state"], tasks["ingest"]["try_number"]) == ("success", 2)
    assert check_lake(running.view(), running.truth(), running.spec) == []


@OTHERS
def test_backfills_and_scheduled_runs_take_turns(running: Running) -> None:
    """New events arrive and every layer runs while two of them are backfilled, one for three days."""
    api = running.stack.airflow.api
    before = {dag_id: len(backfill_states(api, dag_id)) for dag_id in ("slow_layer", "stitch_layer")}
    for dag_id, first in (("slow_layer", 5), ("stitch_layer", 4)):
        start_backfill(running, dag_id, days_ago=(first, 3))
    generate(["--resume", "--events", "300"], running.environ)
    api.trigger("slow_layer")
    running.chain.run_once(limit_seconds=1200)
    for dag_id, dates in (("slow_layer", 3), ("stitch_layer", 2)):
        assert backfill_states(api, dag_id) == ["success"] * (before[dag_id] + dates), dag_id
        assert_one_at_a_time(api, dag_id)
    running.chain.run_once("slow_layer")
    assert check_lake(running.view(), running.truth(), running.spec) == []
    assert running.differing_marts() == {}


def test_the_arrival_went_through_the_chain_once(running: Running) -> None:
    api = running.stack.airflow.api
    for dag_id in ("split_sales", "fast_layer", "stitch_layer"):
        types = [run.run_type for run in running.runs if run.dag_id == dag_id]
        assert types.count("asset_triggered") == 1, dag_id
    assert api.import_errors() == []


def test_asset_events_carry_the_instants(running: Running) -> None:
    api, last = running.stack.airflow.api, dict[str, Instant]()
    for name in running.spec.table_names:
        if instant := Timeline(table=name, path=running.settings.table_path(name)).last:
            last[name] = instant
    extras = {name: [event["extra"] for event in api.asset_events(f"sales/{name}")] for name in last}
    for name, instant in last.items():
        instants = [extra["instant"] for extra in extras[name]]
        # The layers validate their own tables side by side: whose event is last does not follow from instants.
        newest = max(instants) if name == running.spec.quality.table else instants[-1]
        assert newest == instant, name
        assert len({extra["instant"] for extra in extras[name]}) == len(extras[name]), f"{name} was announced twice"
    split = [event["extra"] for event in api.asset_events("sales/sales_log/split")]
    assert [extra["source"]["up_to"] for extra in split] == [extra["instant"] for extra in extras["sales_log"]]
    assert split[-1]["instants"] == {table.name: last[table.name] for table in running.spec.tables}


def test_commits_name_the_run_that_made_them(running: Running) -> None:
    api = running.stack.airflow.api
    for name, dag_id in (("sales_log", "ingest_sales"), ("sales", "split_sales"), ("fast_daily_deals", "fast_layer")):
        timeline = Timeline(table=name, path=running.settings.table_path(name))
        tasks = [parse_task(timeline.metadata(instant).get(TASK_KEY)) for instant in timeline.writes]
        assert all(tasks), name
        assert {task.dag_id for task in tasks if task} == {dag_id}, name
        assert {task.run_id for task in tasks if task} <= {run.run_id for run in api.runs(dag_id)}, name


def start_backfill(running: Running, dag_id: str, *, days_ago: tuple[int, int]) -> None:
    """Backfill the dates from so many days before the newest event to so many."""
    newest = max(row["event_time"] for row in read_with_rust(running.settings.table_path("sales_log"))).date()
    first, last = ((newest - timedelta(days=days)).isoformat() for days in days_ago)
    create_backfill(running.stack, dag_id, first=first, last=last, max_active_runs=4)
