"""``lake_quality``: what was checked of every commit is there once, by both readers, whatever died or ran twice."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.instants import NO_INSTANT, Instant, moment_of
from spark_jobs.contracts.job_errors import AuditFailedError, GateStoppedError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.jobs import validate
from spark_jobs.quality.holds import Holds
from spark_jobs.quality.record import QualityRecord
from spark_jobs.quality.results import WRITTEN, QualityResult, ResultPlace, Stage
from spark_jobs.quality.verdicts import QUALITY_KEY, Outcome
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.savepoints import SavepointRecords
from spark_jobs.storage.timeline import Timeline
from tests.support.contexts import context_of
from tests.support.envelopes import line, sqlserver
from tests.support.expecting_lakes import make_expecting_lake
from tests.support.lakes import SpecLake

pytestmark = [pytest.mark.hudi, pytest.mark.timeout(900)]

CLOCK = datetime(2026, 1, 1, 23, 30, tzinfo=UTC)
TABLES = "sales_log,units,agents,sales"
EXPECTATIONS: dict[str, dict[str, Any]] = {
    "sales_log": {"named": {"column": "agent_name", "not_null": True}, "volume": {"usual": "rows"}},
    "units": {"numbered": {"column": "unit_name", "matches": "^Unit [0-9]+$"}},
}
Rows = list[dict[str, Any]]


def sale(key: int, at: int, **more: Any) -> bytes:
    row = {"SaleId": key, "AgentId": 1, "AgentName": "Ann", "UnitId": key, "UnitName": f"Unit {key}", "StatusId": 1}
    return line(sqlserver("c", {**row, **more}, at))


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> SpecLake:
    return make_expecting_lake(spark, tmp_path, EXPECTATIONS, keeps_shipped=False)


def bring(lake: SpecLake, name: str, *lines: bytes, minutes: int = 0) -> None:
    lake.land(name, lines)
    for job in ("ingest", "split"):
        lake.run(job, clock=CLOCK + timedelta(minutes=minutes))


def check(lake: SpecLake, tables: str = TABLES, *, minutes: int = 0, increment: bool = True) -> JobResult:
    return lake.run("validate", clock=CLOCK + timedelta(minutes=minutes), tables=tables, increment=increment)


def needs_spark(lake: SpecLake, minutes: int) -> bool:
    return needs_spark_for(lake, TABLES, CLOCK + timedelta(minutes=minutes))


def results(lake: SpecLake, stage: Stage | None = None) -> Rows:
    """As the Rust reader has them, which must be what Spark has."""
    rows = lake.rows("lake_quality")
    by_spark = {row["result_id"]: row for row in lake.rows_by_spark("lake_quality")}
    assert {row["result_id"]: row for row in rows} == by_spark
    assert max(Counter(row["result_id"] for row in rows).values(), default=0) <= 1
    return [row for row in rows if stage in (None, row["stage"])]


def stored_by_commits(lake: SpecLake) -> dict[tuple[str, str, str], tuple[int, int, str]]:
    """Of each table, commit and rule: rows checked, rows broken and outcome, read from the commit files alone."""
    found: dict[tuple[str, str, str], tuple[int, int, str]] = {}
    for table in TABLES.split(","):
        for file in Path(lake.path(table), ".hoodie").glob("*commit"):
            stored = json.loads(file.read_bytes())["extraMetadata"].get(METADATA_PREFIX + QUALITY_KEY)
            for name, checked, broken, outcome, _, _ in json.loads(stored)["rules"] if stored else ():
                found[table, file.name.partition(".")[0], name] = (checked, broken, outcome)
    return found


def test_every_commit_and_every_increment_is_checked_once(lake: SpecLake):
    assert not needs_spark(lake, 0)
    assert check(lake).status == NOTHING_TO_DO
    bring(lake, "one.jsonl", sale(1, 1), sale(2, 2, AgentName=None))
    assert needs_spark(lake, 0)
    first = check(lake)
    assert (first.status, first.tables[0].table, first.tables[0].is_committed) == (DONE, "lake_quality", True)
    first_rows = {row["expectation"]: row for row in results(lake, Stage.INCREMENT)}
    assert (first_rows["named"]["rows_asked"], first_rows["named"]["rows_broken"]) == (2, 1)
    assert first_rows["named"]["observed"] == "1 of 2 rows broke it"
    assert first_rows["numbered"]["outcome"] == "held"

    assert not needs_spark(lake, 60), "nothing came since"
    bring(lake, "two.jsonl", sale(1, 1), sale(3, 3), sale(4, 4, UnitName="Garage"), b"no record", minutes=5)
    assert not needs_spark(lake, 29), "checked less than half an hour ago"
    assert check(lake, minutes=29).status == NOTHING_TO_DO
    check(lake, minutes=30)
    instants = {table: Timeline(table=table, path=lake.path(table)).last for table in TABLES.split(",")}
    newest = {
        row["expectation"]: row
        for row in results(lake, Stage.INCREMENT)
        if row["instant"] == instants[row["table_name"]]
    }
    assert (newest["named"]["rows_asked"], newest["named"]["rows_broken"]) == (2, 0), "what is new, and no more"
    assert (newest["numbered"]["rows_asked"], newest["numbered"]["outcome"]) == (2, "warned")
    gates = {
        (row["table_name"], row["instant"], row["expectation"]): (
            row["rows_asked"],
            row["rows_broken"],
            row["outcome"],
        )
        for row in results(lake, Stage.GATE)
    }
    assert stored_by_commits(lake).items() <= gates.items()
    (balance,) = (
        row
        for row in results(lake, Stage.GATE)
        if row["expectation"] == "every_record_is_accounted_for" and row["instant"] == instants["sales_log"]
    )
    assert (balance["observed"], balance["expected"]) == ("4 = 1 + 2 + 1", "read = quarantined + written + duplicates")


@pytest.mark.slice(name="tables")
def test_whole_tables_are_checked_whole_and_twice_is_once(lake: SpecLake):
    bring(lake, "one.jsonl", sale(1, 1), sale(2, 2))
    bring(lake, "two.jsonl", sale(3, 3))
    check(lake, "units", increment=False)
    before = results(lake)
    (numbered,) = (row for row in before if row["stage"] == Stage.WHOLE and row["expectation"] == "numbered")
    assert numbered["rows_asked"] == 3
    written = {row["instant"]: row["figure"] for row in before if row["expectation"] == WRITTEN}
    assert sorted(written.values()) == [Decimal(1), Decimal(2)], "both commits, none of which was checked before"
    check(lake, "units", increment=False, minutes=5)
    after = results(lake)
    assert {row["result_id"] for row in after} == {row["result_id"] for row in before}
    assert not needs_spark_for(lake, "units"), "what was checked whole is no increment any more"


def needs_spark_for(lake: SpecLake, tables: str, clock: datetime = CLOCK + timedelta(days=1)) -> bool:
    spec = load_lake_spec(lake.settings.lake_spec)
    return validate.needs_spark(
        context_of("validate", lake.settings, spec=spec, clock=clock, tables=tables, increment=True)
    )


def test_what_dies_before_its_results_are_kept_checks_and_holds_once_more(spark: SparkSession, tmp_path: Path):
    stops = {"units": {"numbered": {"column": "unit_name", "matches": "^Unit [0-9]+$"}}}
    lake = make_expecting_lake(spark, tmp_path, stops, keeps_shipped=False)
    bring(lake, "one.jsonl", sale(1, 1, UnitName="Garage"))
    expectations = tmp_path / "expectations" / "units.yaml"
    text = expectations.read_text(encoding="utf-8")
    expectations.write_text(f"{text}  action: stop\n", encoding="utf-8")  # the rows came before the rule
    with patch.object(QualityRecord, "write", side_effect=OSError("gone")), pytest.raises(OSError, match="gone"):
        check(lake, "units")
    assert Holds(lake.settings).hold_of("units"), "held before it is kept that it was checked"
    Holds(lake.settings).let_go("units")
    with pytest.raises(AuditFailedError, match="numbered"):
        check(lake, "units")
    assert Holds(lake.settings).hold_of("units")
    (row,) = (row for row in results(lake, Stage.INCREMENT) if row["expectation"] == "numbered")
    assert (row["outcome"], row["action"]) == ("stopped", "stop")
    expectations.write_text(text, encoding="utf-8")
    bring(lake, "two.jsonl", sale(2, 2))
    assert check(lake, "units", minutes=40).status == DONE
    assert Holds(lake.settings).hold_of("units"), "an increment that is right says nothing of the rest"
    check(lake, "units", increment=False, minutes=41)
    assert Holds(lake.settings).hold_of("units") is None


def test_a_batch_that_was_kept_out_is_there_too(spark: SparkSession, tmp_path: Path):
    stops = {"units": {"numbered": {"column": "unit_name", "matches": "^Unit [0-9]+$", "action": "stop"}}}
    lake = make_expecting_lake(spark, tmp_path, stops, keeps_shipped=False)
    bring(lake, "one.jsonl", sale(1, 1))
    with pytest.raises(GateStoppedError):
        bring(lake, "two.jsonl", sale(2, 2, UnitName="Garage"), minutes=5)
    (seen,) = lake.run("doctor", clock=CLOCK, action="check").messages
    assert seen.startswith("units: held: held since 2026-01-01T23:35:00Z, readers keep the state before: numbered (")
    check(lake, "units", minutes=10)
    (stopped,) = (row for row in results(lake) if row["outcome"] == "stopped")
    assert (stopped["stage"], stopped["instant"], stopped["expectation"]) == ("gate", "", "numbered")
    assert "1 of 1 rows broke it" in stopped["observed"]


@pytest.mark.slice(name="tables")
def test_a_lake_that_went_back_is_checked_whole_and_says_so(lake: SpecLake):
    bring(lake, "one.jsonl", sale(1, 1))
    lake.run("savepoint", clock=CLOCK, action="create", label="before", keep=None)
    (record,) = SavepointRecords(lake.settings).all()
    assert "lake_quality" not in record.tables
    bring(lake, "two.jsonl", sale(2, 2), minutes=5)
    check(lake, minutes=6)
    known = {row["result_id"] for row in results(lake)}
    lake.run("restore", clock=CLOCK, to=record.id, yes=True)
    bring(lake, "three.jsonl", sale(3, 3), minutes=7)
    messages = check(lake, minutes=60).messages
    assert any(line.startswith("sales_log: resync: checkpoint ") for line in messages)
    assert known < {row["result_id"] for row in results(lake)}, "what was seen stays, though the lake went back"


@pytest.mark.slice(name="tables")
def test_a_day_unlike_the_weeks_before_it_is_reported_by_the_nightly_run(lake: SpecLake):
    bring(lake, "one.jsonl", sale(1, 1), sale(2, 2))
    spec, day = load_lake_spec(str(lake.spec)), date(2026, 1, 1)
    earlier = [(day - timedelta(days=back), 900 + 7 * (back % 5)) for back in range(28, 0, -1)]
    history = [written_on(at, count) for at, count in earlier]
    context = context_of("validate", lake.settings, spark=lake.spark, spec=spec, clock=CLOCK)
    QualityRecord(spec, lake.settings).write(context, history, {})
    committed = moment_of(Timeline(table="sales_log", path=lake.path("sales_log")).last or NO_INSTANT)
    result = lake.run("validate", clock=CLOCK + timedelta(hours=4), tables="sales_log", increment=False)
    (message,) = (line for line in result.messages if "volume" in line)
    # The commit is of the machine's day, not of the run's: nothing was written on the first of January.
    assert committed.date() != day
    assert message.startswith("sales_log: warned: volume (rows as usual): 0 on 2026-01-01, where ")
    (row,) = results(lake, Stage.HISTORY)
    assert (row["day"], row["outcome"], row["figure"], row["action"]) == ("2026-01-01", "warned", Decimal(0), "warn")


def test_a_day_unlike_the_others_holds_a_table_of_which_nothing_else_is_expected(spark: SparkSession, tmp_path: Path):
    lake = make_expecting_lake(
        spark, tmp_path, {"units": {"kept": {"usual": "rows", "action": "stop"}}}, keeps_shipped=False
    )
    bring(lake, "one.jsonl", sale(1, 1))
    days = [date(2026, 1, 1) - timedelta(days=back) for back in range(28, 0, -1)]
    history = [written_on(at, 900 + 7 * (at.day % 5), table="units") for at in days]
    spec = load_lake_spec(str(lake.spec))
    context = context_of("validate", lake.settings, spark=lake.spark, spec=spec, clock=CLOCK)
    QualityRecord(spec, lake.settings).write(context, history, {})
    with pytest.raises(AuditFailedError, match="kept"):
        lake.run("validate", clock=CLOCK + timedelta(hours=4), tables="units", increment=False)
    assert Holds(lake.settings).hold_of("units")


def written_on(day: date, count: int, *, table: str = "sales_log") -> QualityResult:
    instant = Instant(f"{day:%Y%m%d}120000000")
    return QualityResult(
        place=ResultPlace(table=table, instant=instant, day=day.isoformat()),
        stage=Stage.GATE,
        expectation=WRITTEN,
        observed=f"{count} rows",
        checked=count,
        figure=Decimal(count),
        outcome=Outcome.HELD,
    )
