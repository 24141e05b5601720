"""What Great Expectations costs on an increment, against a whole table, and against the same facts by one aggregate."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from bench.race import say
from bench.report import Race
from bench.session import CORES, open_bench_session
from spark_jobs.contracts.instants import NO_INSTANT
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.expectations import Expectation
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.quality.gate import Gate
from spark_jobs.quality.suites import Suites
from spark_jobs.quality.verdicts import Verdict
from spark_jobs.spec_files.expectation_file import parse_expectation
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.reader import plan_pull, read_as_of, read_pull
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit

LAYOUT = TableLayout(name="deals", record_key="id", form=StorageForm.KEYED, buckets=4, type=TableType.MERGE_ON_READ)
STORED, CHANGED = 2_000_000, 5_000
_IMPORTS = 5
_COLUMNS = (
    "id",
    "CAST(id % 997 AS DECIMAL(18, 4)) AS amount",
    "concat('Unit ', id % 5000) AS unit_name",
    "id % 11 AS status_id",
    "IF(id % 50 = 0, NULL, id % 300) AS agent_id",
    "timestamp_seconds(1700000000 + id) AS signed",
)
_MODULES = "great_expectations, great_expectations.expectations"
_METHOD = """\
A merge-on-read table of {stored:,} rows and six columns, of which {changed:,} rows changed with its newest commit;
{count} expectations about single rows, of all kinds, some of them broken. One warm session on {cores} cores, Great
Expectations imported already; who begins changes from round to round.

* suites are what `validate` runs: a suite of Great Expectations, made and run each time.
* aggregate is what the gate runs: the same facts in one query."""


def measure_suites(settings: Settings, folder: Path, *, warm_ups: int, rounds: int) -> Race:
    """Seconds of a round by each; all that check the same rows have to count the same."""
    spark = open_bench_session(settings, folder=folder, with_peers=False)
    settings = replace(settings, base_path=str(folder))
    after = commit(_rows(spark, STORED), LAYOUT, metadata={}, settings=settings, is_first=True).instant
    commit(_rows(spark, CHANGED), LAYOUT, metadata={}, settings=settings)
    timeline, rules = Timeline(table=LAYOUT.name, path=settings.table_path(LAYOUT.name)), _expectations()

    def increment() -> DataFrame:
        return read_pull(spark, timeline.path, plan_pull(timeline, after=after))

    def whole() -> DataFrame:
        return read_as_of(spark, timeline.path, timeline.last or NO_INSTANT)

    ways: Mapping[str, Callable[[], tuple[Verdict, ...]]] = {
        "suites, increment": lambda: _by_suite(increment(), rules),
        "suites, whole table": lambda: _by_suite(whole(), rules),
        "aggregate, increment": lambda: _by_aggregate(increment(), rules),
        "aggregate, whole table": lambda: _by_aggregate(whole(), rules),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    counts: dict[str, list[tuple[int, int]]] = {}
    for number in range(warm_ups + rounds):
        names = list(ways)[number % len(ways) :] + list(ways)[: number % len(ways)]
        for name in names:
            began = time.perf_counter()
            counts[name] = [(verdict.checked, verdict.broken) for verdict in ways[name]()]
            if number >= warm_ups:
                seconds[name].append(time.perf_counter() - began)
        say(f"round {number} is done")
    return Race(
        title="Great Expectations after a commit",
        method=_METHOD.format(stored=STORED, changed=CHANGED, count=len(rules), cores=CORES),
        subject="suites, increment",
        aims={},
        rows_scale=1,
        warm_ups=warm_ups,
        seconds=seconds,
        differing_tables={
            name: [] if counts[name] == counts[name.replace("suites", "aggregate")] else [LAYOUT.name] for name in ways
        },
        notes=[_imports()],
    )


def _rows(spark: SparkSession, count: int) -> DataFrame:
    """``count`` rows spread over all keys."""
    return spark.range(count).selectExpr(f"id * {STORED // count} AS id").selectExpr(*_COLUMNS)


def _expectations() -> tuple[Expectation, ...]:
    def rule(name: str, **entry: Any) -> Expectation:
        return parse_expectation(LAYOUT.name, name, entry)

    return (
        rule("key", column="id", not_null=True),
        rule("agent", column="agent_id", not_null=True),
        rule("amount", column="amount", between=[1, 990]),
        rule("signed", column="signed", between=["2000-01-01", "2100-01-01"]),
        rule("status", column="status_id", one_of=list(range(10))),
        rule("named", column="unit_name", matches="^Unit [1-9]"),
        rule("priced", holds="status_id <> 8 OR amount > 0"),
        rule("sold", holds="agent_id IS NOT NULL", where="status_id = 8"),
    )


def _by_suite(rows_df: DataFrame, rules: tuple[Expectation, ...]) -> tuple[Verdict, ...]:
    with tempfile.TemporaryDirectory(prefix="bench-suites-") as folder:
        return Suites(Path(folder)).check(LAYOUT.name, rows_df, rules, lambda _: rows_df)


def _by_aggregate(rows_df: DataFrame, rules: tuple[Expectation, ...]) -> tuple[Verdict, ...]:
    gate = Gate(table=LAYOUT.name, expectations=rules)
    row = rows_df.agg(*gate.aggregates(rows_df.schema)).first()
    return gate.judge(row.asDict() if row else {})


def _imports() -> str:
    """What a process pays before it can check anything."""
    nothing, everything = (_start(code) for code in ("pass", f"import {_MODULES}"))
    return (
        f"Importing Great Expectations takes {everything - nothing:.1f} s more than a Python that imports nothing "
        f"(medians of {_IMPORTS} new processes); a process that checks nothing does not import it."
    )


def _start(code: str) -> float:
    seconds = []
    for _ in range(_IMPORTS):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        seconds.append(time.perf_counter() - began)
    return median(seconds)
