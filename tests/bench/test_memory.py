"""Peaks of an arrival of 1,000 events and of one of 100,000, the larger of which took half as much again."""

from __future__ import annotations

from bench.memory import Peak, summarize
from spark_jobs.contracts.settings import Settings


def test_growth_is_the_largest_arrivals_memory_by_the_smallest_ones():
    small = Peak(events=1_000, idle=500, jobs={"ingest": 1000.0, "split": 1200.0}, ingests=1)
    large = Peak(events=100_000, idle=510, jobs={"ingest": 1500.0, "split": 1200.0}, ingests=3)
    found = summarize([small, large], Settings())
    assert found.values["ingest, 100,000 events"] == 1500
    assert found.notes[0] == "Growth of 100 times the events: ingest 1.50, split 1.00."
    assert found.notes[1] == "Before the first job: 500, 510 MB. Runs of `ingest`: 1, 3."
    assert "100 times fewer" in found.method
