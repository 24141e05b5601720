"""The account of a batch: what is measured of it is what plain Python counts, and it balances in one case alone."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import UnbalancedError
from spark_jobs.contracts.settings import Settings
from spark_jobs.pipelines.account import check_balance, measure, newest_event
from spark_jobs.quality.freshness import NEWEST_EVENT_KEY
from spark_jobs.quality.gate import Gate
from spark_jobs.sources.decoding import decoded_schema
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.layouts import log_layout
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.log import with_day
from tests.support.lakes import in_utc
from tests.support.made_tables import MadeTable

SPEC = load_lake_spec(Settings().lake_spec)
CLOCK = datetime(2026, 1, 2, 12, tzinfo=UTC)
MOMENTS = [CLOCK + timedelta(hours=hours) for hours in (-40, -13, -12, 0, 1, 30)]
"""The clock itself among them, the first moment of its day, and what has not happened yet."""
OF_THE_SOURCE = ("other_type", "other_origin", "position_fell")
REASONS = [None, None, None, "not_json", *OF_THE_SOURCE, "broken_rule", "ignored"]

counts = st.dictionaries(
    st.sampled_from(["written", "quarantined", "duplicates", "marked"]), st.integers(0, 5), min_size=1
)


@given(counts, st.integers(-3, 3))
def test_it_balances_when_every_record_has_one_fate(fates: dict[str, int], more: int):
    read = sum(fates.values()) + more
    if not more:
        check_balance("log", {"read": read, **fates})
        return
    with pytest.raises(UnbalancedError, match=f"^log: {read:,} rows were read, and") as caught:
        check_balance("log", {"read": read, **fates})
    assert all(f"{count:,} {name}" in str(caught.value) for name, count in fates.items())


def test_what_was_counted_stays_as_it_was():
    rows = {"read": 3, "written": 3}
    check_balance("log", rows)
    assert rows == {"read": 3, "written": 3}


def make_batch(seed: int) -> list[dict[str, Any]]:
    """Records of some events, each delivered once or more, now and then with another time; usable or not.

    In the last one an event was also delivered with times of a day and of the next one.
    """
    rng = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for _ in range([0, 1, 30, 31, 32][seed]):
        number, reason = rng.randrange(9), rng.choice(REASONS)
        detail = rng.choice(["", "shop.basket", "shop.visit"]) if reason == "ignored" else "why"
        moment = rng.choice([MOMENTS[number % 3], rng.choice(MOMENTS)])
        event = {"event_id": f"e{number}", "event_order": f"{number:04x}", "event_time": moment}
        place = rng.choice(["t/file", "kafka:t/0", "kafka.t/file"])
        more = {"row_types": {"More": "x:int"}, "source_table": rng.choice([None, "a.b"])} if number % 2 else {}
        rows.append({**event, "reason": reason, "detail": reason and detail, "read_from": place, **more})
    if seed == 4:
        event = {"event_id": "torn", "event_order": "00ff", "reason": None, "detail": None, "read_from": "t/file"}
        rows += [{**event, "event_time": moment} for moment in MOMENTS[1:3]]
    return rows


def count(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The model."""
    usable = [row for row in rows if row["reason"] is None]
    rejected = [row["reason"] for row in rows if row["reason"] not in (None, "ignored")]
    days = defaultdict(set)
    for row in usable:
        days[row["event_id"]].add(row["event_time"].date())
    orders = defaultdict(list)
    for row in usable:
        orders[f"{row['event_time']:%Y-%m-%d}"].append(row["event_order"])
    return {
        "messages": sum(row["read_from"] == "kafka:t/0" for row in rows),
        "ignored": len(rows) - len(usable) - len(rejected),
        "usable": len(usable),
        "rejected": len(rejected),
        "set_aside": sum(reason in OF_THE_SOURCE for reason in rejected) + rejected.count("broken_rule"),
        "of_the_source": sum(reason in OF_THE_SOURCE for reason in rejected),
        "undeclared": sum("row_types" in row and row["source_table"] is None for row in usable),
        "others": {row["detail"] for row in rows if row["reason"] == "ignored" and row["detail"]},
        "newest": max((row["event_time"] for row in usable if row["event_time"] <= CLOCK), default=None),
        "days": {day: (min(of_day), max(of_day)) for day, of_day in orders.items()},
        "day_records": {day: len(of_day) for day, of_day in orders.items()},
        "distinct": len(days),
        "torn": sum(len(of_event) > 1 for of_event in days.values()),
    }


@pytest.mark.spark
def test_what_is_measured_of_a_batch_is_what_there_is(spark: Any) -> None:
    gate = Gate(table=SPEC.log, expectations=())
    columns = [part.split()[0] for part in decoded_schema(SPEC).split(", ")]
    for seed in range(5):
        rows = make_batch(seed)
        batch = [tuple(row.get(name) for name in columns) for row in rows]
        facts = measure(with_day(spark.createDataFrame(batch, decoded_schema(SPEC)), CLOCK), gate, CLOCK)
        found = {
            name: set(value) if isinstance(value, list) else in_utc(value) for name, value in asdict(facts).items()
        }
        assert found.pop("checked") == {}
        assert found == count(rows), seed


@pytest.mark.parametrize(
    ("known", "new", "wanted"),
    [(None, None, None), (0, None, 0), (None, 1, 1), (1, 0, 1), (0, 1, 1), (1, 1, 1)],
)
def test_the_newest_event_that_the_log_knows_never_goes_back(tmp_path: Path, known: Any, new: Any, wanted: Any) -> None:
    texts = ["2026-01-01T23:00:00Z", "2026-01-02T00:00:00Z"]
    made = MadeTable(log_layout(SPEC), tmp_path / "log")
    if known is not None:
        made.commits(1, action="commit", extraMetadata={METADATA_PREFIX + NEWEST_EVENT_KEY: texts[known]})
    newest = None if new is None else datetime.fromisoformat(texts[new])
    found = newest_event(Timeline(table="log", path=str(tmp_path / "log")), newest)
    assert found == ({} if wanted is None else {NEWEST_EVENT_KEY: texts[wanted]})
