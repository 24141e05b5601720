"""Loads through Hudi: every operation against plain Python, the same load again, deaths, and rows that cannot be used.

``merged_rates`` and ``copied_rates`` are rates by currency and day, of either table type; ``budgets`` are partitioned
by the day of a timestamp; ``countries`` have a key of one column and no partitions.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.job_errors import GateStoppedError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.lake_spec.loads import LoadOperation
from spark_jobs.lake_spec.services import Service
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.layouts import load_layout
from spark_jobs.storage.services.run import TableServices
from tests.support.contexts import CLOCK
from tests.support.crashes import CrashError, crash_at_commit
from tests.support.expecting_lakes import broken_rules, quality_of
from tests.support.lakes import Lake
from tests.support.loading_lakes import (
    RatesOracle,
    make_loading_lake,
    rates_of,
    write_csv,
    write_json,
    write_parquet,
)

pytestmark = pytest.mark.hudi

NAMES = ("currency", "day", "rate")
REMOVE = "remove"
"""In place of an operation: a day is removed."""
DAYS = ("2026-01-01", "2026-01-02", "2026-01-03")
ENDINGS = ("csv", "parquet")
Row = dict[str, Any]


def rate(currency: str, day: str, value: str | None) -> Row:
    return {"currency": currency, "day": day, "rate": value}


ROWS = st.lists(
    st.builds(
        rate,
        st.sampled_from(["EUR", "USD", "CHF", "EUR", "USD", ""]),
        st.sampled_from([*DAYS, *DAYS, "soon"]),
        st.one_of(st.decimals("-9", "9", places=3).map(str), st.sampled_from([None, "x", "1.123456789"])),
    ),
    min_size=1,
    max_size=8,
)
STEPS = (
    st.permutations([*LoadOperation, REMOVE])
    .flatmap(lambda kinds: st.tuples(*(st.tuples(st.just(kind), ROWS, st.sampled_from(ENDINGS)) for kind in kinds)))
    .filter(lambda steps: sum(len(rows) for _, rows, _ in steps) >= 20)
)
"""Each thing once, in any order, with rows enough to meet one another."""


def load(lake: Lake, table: str, rows: Sequence[Row], *, name: str = "rates.csv", **options: Any) -> JobResult:
    path = Path(lake.folder, "files", name)
    if name.endswith(".parquet"):
        write_parquet(path, rows, NAMES)
    elif name.endswith(".jsonl"):
        write_json(path, rows)
    else:
        write_csv(path, rows, list(rows[0]))
    return lake.run("load", table=table, from_path=str(path), **options)


def check_rates(lake: Lake, table: str, expected: dict[tuple[str, str], Any]) -> None:
    """Both readers give these rates, each key once."""
    assert rates_of(lake.rows_by_spark(table)) == expected
    assert rates_of(lake.rows(table)) == expected


def fitting(kind: str, rows: Sequence[Row], oracle: RatesOracle) -> list[Row]:
    """A bulk insert has no key that is there."""
    is_bulk = kind == LoadOperation.BULK_INSERT
    return [row for row in rows if not is_bulk or (row["currency"], row["day"]) not in oracle.rates]


@pytest.mark.parametrize("table", ["merged_rates", pytest.param("copied_rates", marks=pytest.mark.slice(name="jobs"))])
def test_any_sequence_of_operations_is_what_the_words_say(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, table: str
) -> None:
    # One that fails is not made smaller: that would take an hour.
    @settings(max_examples=1, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(STEPS)
    def run(steps: Sequence[tuple[str, list[Row], str]]) -> None:
        lake, oracle = make_loading_lake(spark, tmp_path_factory.mktemp("loads")), RatesOracle()
        first = [rate("EUR", day, str(number)) for number, day in enumerate(DAYS)]
        for number, (kind, rows, ending) in enumerate([("upsert", first, "jsonl"), *steps]):
            if kind == REMOVE:
                lake.run("partitions", action="delete", table=table, partition=DAYS[0], yes=True)
                oracle.delete_days(DAYS[:1])
            elif rows := fitting(kind, rows, oracle):
                result = load(lake, table, rows, name=f"{number}.{ending}", operation=kind)
                counts = {name: result.counters[name] for name in result.counters if name.startswith("rows_")}
                as_read = [{n: v or "" for n, v in row.items()} for row in rows] if ending == "csv" else rows
                assert counts == oracle.load(kind, as_read)
            check_rates(lake, table, oracle.rates)
        assert len(lake.rows("quarantine")) == len(oracle.quarantined)

    run()


def test_the_same_load_is_taken_once_and_once_more_when_a_person_says_so(spark: SparkSession, tmp_path: Path) -> None:
    lake = make_loading_lake(spark, tmp_path)
    old, new = [rate("EUR", DAYS[0], "1")], [rate("EUR", DAYS[0], "2")]
    assert load(lake, "copied_rates", old, name="old.csv").status == DONE
    load(lake, "copied_rates", new, name="new.csv")
    before = lake.instants()
    again = load(lake, "copied_rates", old, name="old.csv")
    assert (again.status, again.counters) == (NOTHING_TO_DO, {"files": 1, "rows_read": 0})
    assert "has loaded these files with upsert before" in again.messages[0]
    assert lake.instants() == before
    assert load(lake, "copied_rates", old, name="old.csv", again=True).status == DONE
    check_rates(lake, "copied_rates", {("EUR", DAYS[0]): Decimal(1)})
    assert quality_of(lake, "copied_rates")["rows"] == {"read": 1, "quarantined": 0, "duplicates": 0, "written": 1}


@pytest.mark.parametrize(
    ("module", "is_committed"),
    [("pipelines.ingestion.intake", True), ("pipelines.loading", False), ("pipelines.loading", True)],
)
def test_a_load_that_died_is_run_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, is_committed: bool
) -> None:
    lake = make_loading_lake(spark, tmp_path)
    rows = [rate("EUR", DAYS[0], "1"), rate("EUR", DAYS[0], "x"), rate("USD", DAYS[0], "2")]
    with monkeypatch.context() as patch:
        crash_at_commit(module, 1, is_committed=is_committed)(patch)
        with pytest.raises(CrashError):
            load(lake, "copied_rates", rows)
    is_whole = module == "pipelines.loading" and is_committed
    assert load(lake, "copied_rates", rows).status == (NOTHING_TO_DO if is_whole else DONE)
    check_rates(lake, "copied_rates", {("EUR", DAYS[0]): Decimal(1), ("USD", DAYS[0]): Decimal(2)})
    assert len(lake.rows("quarantine")) == 1
    assert len(lake.instants()["copied_rates"]) == 1


def test_every_row_that_does_not_fit_is_kept_with_what_it_says(spark: SparkSession, tmp_path: Path) -> None:
    lake = make_loading_lake(spark, tmp_path)
    path = tmp_path / "budgets.csv"
    lines = [
        "team,month,amount,Final?",
        "1,2026-01-31T23:30:00-02:00,10.50,TRUE",
        "2,2026-02-01,,0",
        "x,2026-02-01,1,1",
        "3,2026-02-30,1,1",
        "4,2026-02-01,1.005,1",
        "5,2026-02-01,1,perhaps",
        ",2026-02-01,1,1",
        "6,2026-02-01,1",
        "2,2026-02-01,7,false",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    result = lake.run("load", table="budgets", from_path=str(path))
    assert result.counters == {
        "files": 1, "rows_read": 9, "rows_written": 2, "rows_quarantined": 6, "rows_duplicates": 1
    }  # fmt: skip
    february = datetime(2026, 2, 1, tzinfo=UTC)
    rows = {
        row["team"]: (row["month"], row["month_day"], row["amount"], row["is_final"]) for row in lake.rows("budgets")
    }
    assert rows == {
        1: (datetime(2026, 2, 1, 1, 30, tzinfo=UTC), "2026-02-01", Decimal("10.50"), True),
        2: (february, "2026-02-01", Decimal("7.00"), False),
    }
    kept = {row["read_offset"]: row for row in lake.rows("quarantine")}
    assert {at: row["detail"].removeprefix("budgets: ").split(":")[0] for at, row in kept.items()} == {
        4: "bad_integer", 5: "bad_timestamp", 6: "bad_decimal", 7: "bad_boolean", 8: "missing_key", 9: "bad_text"
    }  # fmt: skip
    assert {(row["reason"], row["read_from"]) for row in kept.values()} == {("broken_row", str(path))}
    assert json.loads(kept[4]["raw"])["row"] == {"team": "x", "month": "2026-02-01", "amount": "1", "Final?": "1"}
    assert json.loads(kept[9]["raw"]) == {"load": "budgets", "line": "6,2026-02-01,1"}
    assert lake.run("quarantine", action="replay", all=True, because="so").status == NOTHING_TO_DO
    with pytest.raises(ContractError, match="are no events: correct the file, load it again"):
        lake.run("quarantine", action="replay", record=kept[4]["record_hash"], because="so")


def test_a_table_without_partitions_is_replaced_and_no_load_is_not_nothing(spark: SparkSession, tmp_path: Path) -> None:
    lake = make_loading_lake(spark, tmp_path)
    old = [{"code": "DE", "name": "Deutschland"}, {"code": "FR", "name": "France"}]
    load(lake, "countries", old, name="1.jsonl")
    load(lake, "countries", [{"code": "AT", "name": None}], name="2.jsonl")
    expected = [{"code": "AT", "name": None}]
    assert lake.rows_by_spark("countries") == lake.rows("countries") == expected
    unusable = [{"code": "", "name": "nowhere"}, {"code": "IT", "name": "x" * 21}]
    result = load(lake, "countries", unusable, name="3.jsonl")
    assert (result.counters["rows_written"], result.counters["rows_quarantined"]) == (0, 2)
    assert lake.rows("countries") == expected, "a file of which nothing can be used replaces nothing"
    assert load(lake, "countries", unusable, name="3.jsonl").status == NOTHING_TO_DO
    with pytest.raises(ContractError, match="countries has no partitions to be replaced"):
        load(lake, "countries", old, name="1.jsonl", operation="insert_overwrite")


def test_a_bulk_insert_of_a_key_that_is_there_is_refused_as_a_whole(spark: SparkSession, tmp_path: Path) -> None:
    lake = make_loading_lake(spark, tmp_path)
    load(lake, "merged_rates", [rate("EUR", DAYS[0], "1")], operation="bulk_insert")
    before = lake.instants()
    rows = [rate("EUR", DAYS[0], "2"), rate("USD", DAYS[0], "2"), rate("USD", DAYS[0], "x")]
    with pytest.raises(ContractError, match="merged_rates: 1 keys of the bulk_insert are there already"):
        load(lake, "merged_rates", rows, name="2.csv", operation="bulk_insert")
    assert lake.instants() == before


def test_expectations_of_a_load_are_checked_before_it_is_committed(spark: SparkSession, tmp_path: Path) -> None:
    rules = {
        "rate_is_positive": {"column": "rate", "between": [0, None], "action": "quarantine"},
        "rates_are_many": {"rows": [2, None], "action": "stop"},
    }
    lake = make_loading_lake(spark, tmp_path, {"copied_rates": rules})
    with pytest.raises(GateStoppedError, match="copied_rates: rates_are_many"):
        load(lake, "copied_rates", [rate("EUR", DAYS[0], "1")], name="1.csv")
    assert lake.instants() == {}
    assert lake.run("publish", action="list").counters["held"] == 1
    rows = [rate("EUR", DAYS[0], "1"), rate("USD", DAYS[0], "-1"), rate("CHF", DAYS[0], "2")]
    result = load(lake, "copied_rates", rows, name="2.csv")
    assert "copied_rates: quarantined: rate_is_positive" in result.messages[0]
    message = "1 of 3 rows of copied_rates cannot be used and are in the quarantine, 2 were written"
    assert result.alerts == (f"{message}; quarantine list says why",)
    check_rates(lake, "copied_rates", {("EUR", DAYS[0]): Decimal(1), ("CHF", DAYS[0]): Decimal(2)})
    assert broken_rules(lake, "copied_rates") == {"rate_is_positive": 1}
    (kept,) = lake.rows("quarantine")
    assert kept["detail"] == "copied_rates: broken_rule: rate_is_positive"
    assert json.loads(kept["raw"])["row"]["currency"] == "USD"
    assert lake.run("publish", action="list").counters["held"] == 0


def test_a_replacement_over_a_compaction_that_waits(spark: SparkSession, tmp_path: Path) -> None:
    """A service died between plan and end: what it was to merge is merged first, then replaced."""
    lake = make_loading_lake(spark, tmp_path)
    for number in range(2):
        load(lake, "merged_rates", [rate("EUR", day, str(number)) for day in DAYS], name=f"{number}.csv")
    spec = load_lake_spec(lake.settings.lake_spec)
    services = TableServices(
        spark=spark,
        layout=load_layout(spec.load("merged_rates")),
        targets=spec.targets("merged_rates"),
        settings=lake.settings,
        clock=CLOCK,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TableServices, "_carry_out", lambda *_: (_ for _ in ()).throw(CrashError))
        with pytest.raises(CrashError):
            services.run(Service.COMPACTION, is_forced=True)
    assert list(Path(lake.path("merged_rates"), ".hoodie").glob("*.compaction.requested"))
    load(lake, "merged_rates", [rate("USD", DAYS[1], "5")], name="x.csv", operation="insert_overwrite")
    expected = {("EUR", DAYS[0]): Decimal(1), ("USD", DAYS[1]): Decimal(5), ("EUR", DAYS[2]): Decimal(1)}
    check_rates(lake, "merged_rates", expected)
    lake.run("partitions", action="delete", table="merged_rates", partition=DAYS[0], yes=True)
    del expected["EUR", DAYS[0]]
    check_rates(lake, "merged_rates", expected)
