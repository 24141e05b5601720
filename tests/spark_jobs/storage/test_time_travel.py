"""Past states and the changes between them, beside what the Rust reader saw at the time.

Four rounds of one seeded schedule (tests/support/schedules.py) go through ingest and split; after each the live rows of
``sales`` and the events of the log are written down with the instant of the table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.results import JobResult
from spark_jobs.storage.savepoints import Record, SavepointRecords
from spark_jobs.storage.timeline import Timeline
from tests.support.lakes import SpecLake
from tests.support.schedules import ROUNDS, build_schedule
from tests.support.service_lakes import make_service_lake

pytestmark = pytest.mark.hudi

COLUMNS = ("unit_id", "status_id", "contract_subtotal", "contract_signing_date", "agent_id", "customer_id")
State = dict[int, dict[str, Any]]


@dataclass
class Past:
    """The lake, and what ``sales`` and the log held at each instant of theirs."""

    lake: SpecLake
    sales: dict[Instant, State] = field(default_factory=dict)
    events: dict[Instant, set[str]] = field(default_factory=dict)

    def timeline(self, table: str) -> Timeline:
        return Timeline(table=table, path=self.lake.path(table))

    def changes(self, table: str, after: str, **options: Any) -> JobResult:
        return self.lake.run("changes", table=table, after=after, **{"up_to": None, "rows": 1000, **options})


@pytest.fixture(scope="module")
def past(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Past:
    lake = make_service_lake(spark, tmp_path_factory.mktemp("past"))
    past = Past(lake)
    schedules = [build_schedule(7, number) for number in range(3)]
    for number in range(ROUNDS):
        for schedule in schedules:
            schedule.land(lake.folder / "landing", number)
        lake.run("ingest")
        lake.run("split")
        rows = [row for row in lake.rows("sales") if not row["is_deleted"]]
        last, log_last = past.timeline("sales").last, past.timeline("sales_log").last
        assert last is not None
        assert log_last is not None
        past.sales[last] = {row["sale_id"]: {name: row[name] for name in COLUMNS} for row in rows}
        past.events[log_last] = {row["event_id"] for row in lake.rows("sales_log")}
    assert len(past.sales) == ROUNDS
    return past


def printed(text: str) -> list[list[str]]:
    """Cells of the table that Spark printed."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


@pytest.mark.slice(name="tables")
def test_changes_are_what_sets_two_states_apart(past: Past, capsys: pytest.CaptureFixture[str]):
    instants = sorted(past.sales)
    for first, last in ((0, 1), (1, 2), (0, 2)):
        before, after = past.sales[instants[first]], past.sales[instants[last]]
        expected = {
            "insert": after.keys() - before.keys(),
            "delete": before.keys() - after.keys(),
            "update": {key for key in before.keys() & after.keys() if before[key] != after[key]},
        }
        capsys.readouterr()
        result = past.changes("sales", instants[first], up_to=instants[last])
        assert result.counters == {op: len(keys) for op, keys in expected.items() if keys}
        found = printed(capsys.readouterr().out)
        assert {(op, int(key)) for op, key, _ in found} == {(op, key) for op, keys in expected.items() for key in keys}
        for op, key, changes in found:
            if op == "update":
                names = {part.split(":")[0] for part in changes.split("; ")}
                assert names == {n for n in COLUMNS if before[int(key)][n] != after[int(key)][n]}
        assert result.source is not None
        assert (result.source.after, result.source.up_to) == (instants[first], instants[last])


def test_the_log_has_inserts_alone(past: Past):
    first, *_, last = sorted(past.events)
    result = past.changes("sales_log", first)
    assert result.counters == {"insert": len(past.events[last] - past.events[first])}


def test_a_window_can_be_cut_after_some_commits(past: Past):
    first, second, _ = sorted(past.sales)
    result = past.changes("sales", first, max_commits=1)
    assert result.source is not None
    assert result.source.up_to == second
    assert past.changes("sales", sorted(past.sales)[-1]).status == "nothing_to_do"
    with pytest.raises(ContractError, match="--max-commits must be at least 1"):
        past.changes("sales", first, max_commits=0)


def test_a_query_sees_tables_as_they_were(past: Past, capsys: pytest.CaptureFixture[str]):
    sql = "SELECT sale_id, agent_id FROM sales ORDER BY sale_id"
    for instant, state in past.sales.items():
        capsys.readouterr()
        past.lake.run("query", sql=sql, rows=1000, as_of=instant)
        expected = [
            [str(key), "NULL" if row["agent_id"] is None else str(row["agent_id"])]
            for key, row in sorted(state.items())
        ]
        assert printed(capsys.readouterr().out) == expected
    capsys.readouterr()
    past.lake.run("query", sql="SELECT COUNT(*) FROM sales", rows=10, as_of=datetime.now(UTC).isoformat())
    assert printed(capsys.readouterr().out) == [[str(len(past.sales[max(past.sales)]))]]


def test_a_moment_before_the_table_and_a_word_that_is_no_moment(past: Past):
    with pytest.raises(ContractError, match=r"sales: its state at 20200101000000000 cannot .* oldest that can is"):
        past.changes("sales", "2020-01-01T00:00:00Z")
    with pytest.raises(ContractError):
        past.changes("sales", "yesterday")
    with pytest.raises(ContractError, match="lake sales has no table 'orders'"):
        past.changes("orders", sorted(past.sales)[0])


@pytest.mark.slice(name="tables")
def test_a_state_that_was_cleaned_is_refused_and_a_savepoint_keeps_it(past: Past):
    """Runs last: everything that may go goes, at first but for what a savepoint of the first state keeps."""
    lake, (first, second, _) = past.lake, sorted(past.sales)
    records, record = (
        SavepointRecords(lake.settings),
        Record(id="x", made_at="", made_by="", what="", tables={"sales": first}),
    )
    records.keep(lake.spark, record)
    for number in range(2):
        write_and_serve(lake, 8 + number)
    assert past.changes("sales", first, up_to=second).counters
    records.release(lake.spark, record)
    write_and_serve(lake, 10)
    with pytest.raises(ContractError, match=f"sales: its state at {first} cannot be read any more"):
        past.changes("sales", first)
    with pytest.raises(ContractError, match=f"state at {first} cannot be read any more"):
        lake.run("query", sql="SELECT 1", rows=1, as_of=first)


def write_and_serve(lake: SpecLake, seed: int) -> None:
    """Another commit of ``sales``, then all its services, at a time when everything is old."""
    build_schedule(seed, 0).land(lake.folder / "landing", seed % ROUNDS)
    lake.run("ingest")
    lake.run("split")
    lake.run("services", clock=datetime.now(UTC) + timedelta(days=2), action="run", table="sales", all=True)
