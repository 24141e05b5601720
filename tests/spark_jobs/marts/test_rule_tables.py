"""Which rule version every month counts by: the one that it was computed with, until it is recomputed by another one.

By the mart's commits January was counted by v2 and February by v1; v1 is in force, as shipped.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.rules import BONUSES, SHARES
from spark_jobs.contracts.rules_file import load_rules
from spark_jobs.contracts.settings import Settings
from spark_jobs.marts.refresh import Refresh
from spark_jobs.marts.rule_tables import build_rule_tables, rule_notes
from spark_jobs.marts.views import Views
from spark_jobs.storage.layouts import mart_layout
from tests.support.made_tables import MadeTable
from tests.support.refreshes import SPEC, refresh_of, settings_of

pytestmark = pytest.mark.spark

MART = SPEC.mart("slow_agent_performance")
BOOK = load_rules(Settings().rules_path)
JANUARY, FEBRUARY, MARCH = "2026-01", "2026-02", "2026-03"
KNOWN = {JANUARY: "v2", FEBRUARY: "v1"}
ROW = "struct<cell_id:string,month:string,rules_version:string>"


def content_of(versions: dict[str, str]) -> dict[str, str]:
    return {month: BOOK.version(version).content for month, version in versions.items()}


def make(folder: Path, content: dict[str, str] | None = None) -> None:
    metadata = {"lakehouse.rules": json.dumps(KNOWN), "lakehouse.definition": MART.definition}
    metadata["lakehouse.rules_content"] = json.dumps(content_of(KNOWN) if content is None else content)
    table = Path(settings_of(folder).table_path(MART.name))
    MadeTable(mart_layout(MART), table).commits(1, action="commit", extraMetadata=metadata, operationType="UPSERT")


def counted_by(refresh: Refresh, *months: str) -> dict[str, set[str]]:
    """The version by which each month has shares."""
    found: dict[str, set[str]] = {}
    for row in build_rule_tables(refresh, months)[SHARES].collect():
        found.setdefault(row["month"], set()).add(row["rules_version"])
    return found


def test_a_month_keeps_its_version_and_a_new_one_has_that_in_force(spark, tmp_path):
    make(tmp_path)
    with Views(spark) as views:
        refresh = refresh_of(tmp_path, mart=MART, views=views)
        months = (MARCH, JANUARY, FEBRUARY)
        assert counted_by(refresh, *months) == {JANUARY: {"v2"}, FEBRUARY: {"v1"}, MARCH: {"v1"}}
        bonuses = build_rule_tables(refresh, months)[BONUSES].collect()
        assert {(row["month"], row["project_id"]) for row in bonuses} == {(JANUARY, 3)}
        asked = refresh_of(tmp_path, mart=MART, views=views, rules="v2")
        assert counted_by(asked, *months) == {month: {"v2"} for month in months}


@pytest.mark.parametrize("changed", [JANUARY, FEBRUARY])
def test_a_version_that_says_something_else_by_now_stops_the_months_it_counted(spark, tmp_path, changed):
    make(tmp_path, {**content_of(KNOWN), changed: "something else"})
    other = FEBRUARY if changed == JANUARY else JANUARY
    with Views(spark) as views:
        refresh = refresh_of(tmp_path, mart=MART, views=views)
        assert counted_by(refresh, other, MARCH).keys() == {other, MARCH}
        with pytest.raises(ContractError, match=f"rules {KNOWN[changed]} say something else than when {changed} was"):
            build_rule_tables(refresh, [other, changed])
        asked = refresh_of(tmp_path, mart=MART, views=views, rules="v1")
        assert counted_by(asked, changed) == {changed: {"v1"}}


@pytest.mark.parametrize("asked", ["", "v1"])
def test_a_commit_says_of_every_month_what_it_counts_by_now(spark, tmp_path, asked):
    """February's row is counted by v2 now, March has a first row, a row of January goes; April was asked for alone."""
    make(tmp_path)
    rows = [
        (("a", FEBRUARY, "v1"), ("a", FEBRUARY, "v2")),
        (None, ("b", MARCH, "v1")),
        (("c", JANUARY, "v2"), None),
    ]
    with Views(spark) as views:
        refresh = refresh_of(tmp_path, mart=MART, views=views, **({"rules": asked} if asked else {}))
        difference_df = spark.createDataFrame(rows, f"before {ROW}, after {ROW}")
        notes = {name: json.loads(text) for name, text in rule_notes(refresh, difference_df, ["2026-04"]).items()}
    expected = {JANUARY: "v2", FEBRUARY: "v2", MARCH: "v1"} | ({"2026-04": asked} if asked else {})
    assert notes == {"rules": expected, "rules_content": content_of(expected)}
