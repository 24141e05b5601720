"""The gates of several tables over one fold: each checks its own live rows, and one that stops stops them all.

``sales`` and ``agents`` have two expectations each, of which rows may break none, one or both.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.job_errors import GateStoppedError
from spark_jobs.contracts.settings import Settings
from spark_jobs.pipelines.merge.gates import GateOutcome, Gates
from spark_jobs.pipelines.merge.tables import merged_tables
from spark_jobs.quality.holds import Holds
from spark_jobs.quality.verdicts import Outcome
from spark_jobs.spec_files.expectation_file import parse_expectation
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.transforms.folding import fold_events
from spark_jobs.transforms.keyed_rows import merge_rows, width_of
from tests.support.contexts import context_of

pytestmark = pytest.mark.spark

CLOCK = datetime(2026, 1, 2, tzinfo=UTC)
EXPECTED: dict[str, dict[str, dict[str, Any]]] = {
    "sales": {
        "not_unit_13": {"holds": "unit_id <> 13", "action": "stop"},
        "has_an_agent": {"column": "agent_id", "not_null": True, "action": "stop"},
    },
    "agents": {
        "has_a_name": {"column": "agent_name", "not_null": True, "action": "stop"},
        "not_agent_13": {"holds": "agent_id <> 13", "action": "stop"},
    },
}
SHIPPED = load_lake_spec(Settings().lake_spec)
SPEC = replace(
    SHIPPED,
    expectations=tuple(
        parse_expectation(table, name, each) for table, of in EXPECTED.items() for name, each in of.items()
    ),
)
TABLES = merged_tables(SPEC, {})


def merged(spark: SparkSession, *events: tuple[str, str, int, int | None, int | None, str | None]) -> DataFrame:
    """Of op, order, sale, unit, agent and the agent's name."""
    events_df = spark.createDataFrame(
        [*events],
        "op string, event_order string, sale_id bigint, unit_id bigint, agent_id bigint, agent_name string",
    )
    for column in {c for table in SPEC.tables for c in (*table.key, *table.columns)} - set(events_df.columns):
        events_df = events_df.withColumn(column, F.lit(None).cast(SPEC.columns_by_name[column].sql_type))
    return merge_rows(fold_events(events_df, TABLES, width_of(TABLES)), None)


def checked(rows_df: DataFrame, own: Settings) -> GateOutcome:
    return Gates(context=context_of("split", own, spec=SPEC, clock=CLOCK), tables=TABLES).check(rows_df, TABLES)


@pytest.mark.parametrize(
    ("unit", "agent", "name"),
    [(1, 7, "Ann"), (13, 7, "Ann"), (1, None, None), (1, 7, None), (1, 13, "Ann"), (13, None, None), (13, 13, None)],
)
def test_every_expectation_of_every_table_stops(spark, tmp_path: Path, unit: int, agent: int | None, name: str | None):
    """Beside the sale in question there are a good one, and one that breaks everything and is deleted."""
    own = Settings(base_path=str(tmp_path))
    rows_df = merged(
        spark,
        ("c", "1", 1, unit, agent, name),
        ("c", "2", 2, 1, 8, "Bob"),
        ("c", "3", 3, 13, None, None),
        ("d", "4", 3, None, None, None),
    )
    stops = {
        "sales": {rule for rule, is_so in (("not_unit_13", unit == 13), ("has_an_agent", agent is None)) if is_so},
        "agents": {
            rule
            for rule, is_so in (("has_a_name", agent is not None and name is None), ("not_agent_13", agent == 13))
            if is_so
        },
    }
    expected = {table: rules for table, rules in stops.items() if rules}
    if expected:
        passed = checked(rows_df, own)
        assert isinstance(passed.blocked, GateStoppedError)
        assert passed.blocked.stopped.keys() == expected.keys()
        assert passed.metadata == {}
        assert {hold.table: set(hold.expectations) for hold in Holds(own).held()} == expected
        return
    found = {table: json.loads(of_table["quality"]) for table, of_table in checked(rows_df, own).metadata.items()}
    assert found["sales"]["rows"] == {"written": 3}
    assert found["agents"]["rows"] == {"written": 2}
    of_sales = {name: (rows, broken, outcome) for name, rows, broken, outcome, *_ in found["sales"]["rules"]}
    assert of_sales == dict.fromkeys((*EXPECTED["sales"], "key_is_known"), (2, 0, Outcome.HELD))
