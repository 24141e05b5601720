"""Which rule version every month counts by: the one that it was computed with, until it is recomputed by another one.

By the mart's commits January was counted by v2 and February by v1; v1 is in force, as shipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import Settings
from spark_jobs.jobs import recompute as job
from spark_jobs.marts.rule_versions import rule_notes, versions_of
from spark_jobs.marts.views import Views
from spark_jobs.spec_files.rules_file import load_rules
from spark_jobs.storage.layouts import mart_layout
from tests.support.contexts import context_of
from tests.support.made_tables import MadeTable
from tests.support.refreshes import SPEC, refresh_of, settings_of

MART = SPEC.mart("slow_agent_performance")
BOOK = load_rules(Settings().rules_path)
JANUARY, FEBRUARY, MARCH = "2026-01", "2026-02", "2026-03"
MONTHS = (JANUARY, FEBRUARY, MARCH)
KNOWN = {JANUARY: "v2", FEBRUARY: "v1"}
ROW = "struct<cell_id:string,month:string>"
BY_SHARES_AND_BONUSES = {JANUARY: "9ae925391010c31b", FEBRUARY: "bf9515b950727a13"}
"""What commits say of v2 and v1 that were made when versions were lists of numbers."""


def content_of(versions: Mapping[str, str]) -> dict[str, str]:
    return {month: BOOK.version(version).content for month, version in versions.items()}


def recompute(rules: str, first: str, last: str) -> dict[str, Any]:
    """What a recompute between two dates requests."""
    given: dict[str, Any] = {"layer": "slow", "from_date": first, "to_date": last, "rules": rules}
    return asdict(job._request(context_of("recompute", Settings(), spec=SPEC, **given)))


ALL_BY = {name: recompute(name, "2026-01-01", "2026-03-31") for name in ("v1", "v2")}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A folder with the mart's table."""
    make(tmp_path)
    return tmp_path


def make(folder: Path, content: Mapping[str, str] | None = None) -> None:
    metadata = {"lakehouse.rules": json.dumps(KNOWN), "lakehouse.definition": MART.definition}
    metadata["lakehouse.rules_content"] = json.dumps(content_of(KNOWN) if content is None else content)
    table = Path(settings_of(folder).table_path(MART.name))
    MadeTable(mart_layout(MART), table).commits(1, action="commit", extraMetadata=metadata, operationType="UPSERT")


def versions(folder: Path, months: Iterable[str], /, **options: Any) -> dict[str, str]:
    return versions_of(refresh_of(folder, mart=MART, **options), months)


def test_a_month_keeps_its_version_and_a_new_one_has_that_in_force(made):
    assert versions(made, MONTHS) == {JANUARY: "v2", FEBRUARY: "v1", MARCH: "v1"}
    assert versions(made, ["2014-12", MARCH]) == {MARCH: "v1"}


@pytest.mark.parametrize(
    ("first", "last", "by_v2"),
    [
        ("2026-01-01", "2026-03-31", {*MONTHS}),
        ("2026-02-10", "2026-02-20", {JANUARY, FEBRUARY}),
        ("20260301", "20260301", {JANUARY, MARCH}),
        ("2025-01-01", "2025-12-31", {JANUARY}),
    ],
)
def test_a_recompute_names_the_version_of_its_own_months_alone(made, first, last, by_v2):
    """What is new elsewhere is ingested by the same run, and is counted as by any other."""
    found = versions(made, MONTHS, **recompute("v2", first, last))
    assert found == {month: "v2" if month in by_v2 else "v1" for month in MONTHS}


@given(
    st.dictionaries(st.sampled_from([*MONTHS, "2014-12"]), st.sampled_from(["v1", "v2"])),
    st.sampled_from([None, "v1", "v2"]),
    st.tuples(st.sampled_from(MONTHS), st.sampled_from(MONTHS)).map(sorted),
)
def test_a_named_version_goes_before_a_known_one_and_that_before_the_one_in_force(tmp_path_factory, known, name, dates):
    folder = tmp_path_factory.mktemp("known")
    metadata = {"lakehouse.rules": json.dumps(known), "lakehouse.rules_content": json.dumps(content_of(known))}
    table = Path(settings_of(folder).table_path(MART.name))
    MadeTable(mart_layout(MART), table).commits(1, action="commit", extraMetadata=metadata, operationType="UPSERT")
    options = recompute(name, f"{dates[0]}-05", f"{dates[1]}-05") if name else {}
    expected = {}
    for month in ("2014-12", *MONTHS):
        if name and dates[0] <= month <= dates[1]:
            expected[month] = name
        elif month in known:
            expected[month] = known[month]
        elif month >= "2015-01":
            expected[month] = "v1"
    assert versions(folder, ["2014-12", *MONTHS], **options) == expected


@pytest.mark.parametrize("changed", [JANUARY, FEBRUARY])
def test_a_version_that_counts_otherwise_by_now_stops_the_months_it_counted(tmp_path, changed):
    make(tmp_path, {**content_of(KNOWN), changed: "0123456789abcdef"})
    other = FEBRUARY if changed == JANUARY else JANUARY
    assert versions(tmp_path, [other, MARCH]).keys() == {other, MARCH}
    refusal = (
        rf"rules {KNOWN[changed]} are not what {changed} was counted by \(content 0123456789abcdef\); put them back"
    )
    with pytest.raises(ContractError, match=refusal):
        versions(tmp_path, [other, changed])
    assert versions(tmp_path, [changed], **ALL_BY["v1"]) == {changed: "v1"}
    with pytest.raises(ContractError, match=refusal):
        versions(tmp_path, [changed], **recompute("v1", "2025-01-01", "2025-12-31"))


def test_months_that_were_counted_before_there_were_expressions_go_on(tmp_path):
    make(tmp_path, BY_SHARES_AND_BONUSES)
    assert versions(tmp_path, MONTHS) == {**KNOWN, MARCH: "v1"}
    assert content_of(KNOWN) != BY_SHARES_AND_BONUSES


@pytest.mark.spark
@pytest.mark.parametrize("name", ["", "v2"])
def test_a_commit_says_of_every_month_what_it_counts_by_now(spark, made, name):
    """A row of February changes, March has a first one, one of January goes; of April a recompute has no row."""
    rows = [
        (("a", FEBRUARY), ("a", FEBRUARY)),
        (None, ("b", MARCH)),
        (None, ("d", None)),
        (("c", JANUARY), None),
    ]
    options: dict[str, Any] = recompute(name, "2026-02-01", "2026-04-30") if name else {}
    with Views(spark) as views:
        refresh = refresh_of(made, mart=MART, views=views, **options)
        difference_df = spark.createDataFrame(rows, f"before {ROW}, after {ROW}")
        notes = {key: json.loads(text) for key, text in rule_notes(refresh, difference_df, ["2026-04"]).items()}
    expected = {JANUARY: "v2", FEBRUARY: name or "v1", MARCH: name or "v1"} | ({"2026-04": name} if name else {})
    assert notes == {"rules": expected, "rules_content": content_of(expected)}


@pytest.mark.spark
def test_a_commit_renews_the_fingerprint_of_months_whose_rows_changed(spark, tmp_path):
    make(tmp_path, BY_SHARES_AND_BONUSES)
    with Views(spark) as views:
        refresh = refresh_of(tmp_path, mart=MART, views=views)
        difference_df = spark.createDataFrame([(None, ("a", FEBRUARY))], f"before {ROW}, after {ROW}")
        notes = rule_notes(refresh, difference_df)
    assert json.loads(notes["rules_content"]) == {**BY_SHARES_AND_BONUSES, FEBRUARY: BOOK.version("v1").content}
