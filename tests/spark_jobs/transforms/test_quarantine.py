"""Selection, histories and kinds of quarantined records in Spark, beside plain Python over the same random rows."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import functions as F

from spark_jobs.contracts.quarantine import Attempt, Selection
from spark_jobs.contracts.rejections import RejectedRecordError
from spark_jobs.contracts.settings import Settings
from spark_jobs.sources.envelope import EnvelopeDecoder
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.transforms.quarantine import (
    QUARANTINE_COLUMNS,
    RECORD_COLUMNS,
    count_kinds,
    is_selected,
    with_about,
    with_attempt,
    with_states,
)
from tests.support.broken import every_broken_record

pytestmark = pytest.mark.spark

SCHEMA = (
    "record_hash string, reason string, detail string, raw binary, read_from string, read_offset bigint, "
    "ingest_time timestamp, state string, history string, became string"
)
ATTEMPT = Attempt(at="2026-01-02", by='Zoë "Q"', action="replay", because="a\\b ☃ '", outcome="fine")
DETAILS = ["one", "one, two", "two", "one_more", "", None]


def make_rows(seed: int) -> list[tuple[Any, ...]]:
    rng = random.Random(seed)
    rows = []
    for _ in range(60):
        tries = [{"at": str(n), "by": "A", "action": "x", "because": '☃"', "outcome": "o"} for n in range(3)]
        history = rng.choice([None, json.dumps(tries[: rng.randrange(4)])])
        state = rng.choice([None, None, "replayed", "discarded"])
        hash_ = f"{rng.getrandbits(256):064x}"
        reason = rng.choice(["broken_rule", "not_json"])
        at = datetime(2026, 1, rng.randrange(1, 28), tzinfo=UTC)
        rows.append((hash_, reason, rng.choice(DETAILS), b"?", "file", 1, at, state, history, None))
    return rows


def is_meant(row: tuple[Any, ...], selection: Selection) -> bool:
    hash_, reason, detail, state = row[0], row[1], row[2], row[7]
    if selection.record:
        return bool(hash_.startswith(selection.record))
    if state is not None:
        return False
    if selection.rule:
        return reason == "broken_rule" and selection.rule in (detail or "").split(", ")
    return not selection.reason or reason == selection.reason


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_selected(spark, seed):
    rows = make_rows(seed)
    rows_df = spark.createDataFrame(rows, SCHEMA)
    for selection in (
        Selection(),
        Selection(reason="not_json"),
        Selection(reason="broken_rule"),
        Selection(rule="one"),
        Selection(rule="two"),
        Selection(record=rows[5][0][:7]),
    ):
        found = {row["record_hash"] for row in rows_df.where(is_selected(selection)).collect()}
        wanted = {row[0] for row in rows if is_meant(row, selection)}
        assert found == wanted
        assert wanted, "or the test shows nothing"


def test_an_attempt_comes_after_those_that_are_known(spark):
    rows = make_rows(3)
    after = with_attempt(spark.createDataFrame(rows, SCHEMA), ATTEMPT, F.col("reason")).collect()
    for before, row in zip(sorted(rows), sorted(after, key=lambda row: row["record_hash"]), strict=True):
        own = {"at": "2026-01-02", "by": 'Zoë "Q"', "action": "replay", "because": "a\\b ☃ '", "outcome": before[1]}
        assert json.loads(row["history"]) == [*json.loads(before[8] or "[]"), own]


def test_kinds_are_counted_with_first_and_last(spark):
    rows = make_rows(4)
    kinds = count_kinds(spark.createDataFrame(rows, SCHEMA)).collect()
    wanted = Counter((row[1], row[2] or "", row[7] or "open") for row in rows)
    assert {(kind["reason"], kind["about"], kind["state"]): kind["records"] for kind in kinds} == wanted
    assert min(kind["first"] for kind in kinds).replace(tzinfo=UTC) == min(row[6] for row in rows)


def test_a_row_of_an_older_lake_is_open(spark):
    old_df = spark.createDataFrame(make_rows(5), SCHEMA).select(*RECORD_COLUMNS)
    new_df = with_states(old_df)
    assert tuple(new_df.columns) == QUARANTINE_COLUMNS
    assert new_df.where(is_selected(Selection())).count() == old_df.count()


def test_what_a_kind_is_about_says_nothing_of_the_record(spark):
    """Details quote values; of each only words before the first digit or quotation mark are shown in a list."""
    decoder, details = EnvelopeDecoder(load_lake_spec(Settings().lake_spec)), []
    for raw, reason in every_broken_record(first_key=5000).items():
        with pytest.raises(RejectedRecordError) as caught:
            decoder.decode(raw)
        details.append((caught.value.reason.value, caught.value.detail, reason))
    shown = with_about(spark.createDataFrame(details, "reason string, detail string, wanted string")).collect()
    words = {(row["reason"], row["about"]) for row in shown}
    assert ("missing_key", "SaleId is missing") in words
    assert ("not_utf8", "byte") in words
    assert not [about for _, about in words if any(c.isdigit() or c in "'\"" for c in about)]
    assert len(words) < len(details)
