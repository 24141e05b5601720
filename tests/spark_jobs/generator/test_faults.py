"""Every kind of broken record the quarantine must know: broken in one way each, no two alike, and few long ones."""

from __future__ import annotations

import json
from collections import Counter

import pytest

REASONS = {
    "not_json", "not_utf8", "duplicate_key_in_json", "nested_too_deep", "null_payload", "unknown_op", "missing_key",
    "bad_decimal", "bad_timestamp", "text_too_long",
}  # fmt: skip


def _broken_lines(run):
    good = {json.dumps(event, sort_keys=True) for event in run.topic.good}
    for line in run.topic.lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            yield line
            continue
        event = record.get("payload") if record and "payload" in record else record
        if line != b"null" and json.dumps(event, sort_keys=True) not in good:
            yield line


@pytest.fixture(scope="module", params=[False, True], ids=["bare", "wrapped"])
def broken_run(request, make):
    return make(events=700, rates={"broken": 0.25, "delete": 0.0}, is_wrapped=request.param)


def test_every_reason_is_there_and_recognised(broken_run):
    assert set(broken_run.truth["broken"]) == REASONS
    assert broken_run.topic.broken == Counter(broken_run.truth["broken"])
    assert broken_run.outcome.counters["broken"] == sum(broken_run.truth["broken"].values()) > 140


def test_no_two_broken_records_are_alike(broken_run):
    lines = list(_broken_lines(broken_run))
    assert len(set(lines)) == len(lines) > 100


def test_long_texts_are_few(broken_run):
    assert broken_run.truth["broken"]["text_too_long"] == 3
    assert sum(len(line) > 1_000_000 for line in broken_run.topic.lines) == 3


def test_broken_records_are_no_events(broken_run):
    assert broken_run.truth["events"] == len(broken_run.topic.distinct) == 700


def test_a_file_never_ends_in_a_broken_record(make):
    run = make(events=400, rates={"broken": 1.0}, events_per_file=20)
    for path in run.outcome.folder.iterdir():
        last = path.read_bytes().split(b"\n")[-2]
        assert last == b"null" or json.loads(last)["op"] in {"c", "u", "d", "r"}
