"""Job results travel as one line of JSON and come out as they went in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, SourceWindow, TableOutcome

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
instants = st.from_regex(r"\d{17}", fullmatch=True).map(Instant)
outcomes = st.builds(
    TableOutcome, table=text, instant=st.none() | instants, rows=st.integers(0, 10**9), is_committed=st.booleans()
)
windows = st.builds(SourceWindow, table=text, after=instants, up_to=instants)
results = st.builds(
    JobResult,
    job=text,
    status=st.sampled_from([DONE, NOTHING_TO_DO]),
    clock=text,
    tables=st.lists(outcomes, max_size=3).map(tuple),
    source=st.none() | windows,
    counters=st.dictionaries(text, st.integers(0, 10**12), max_size=3),
    messages=st.lists(text, max_size=3).map(tuple),
    alerts=st.lists(text, max_size=3).map(tuple),
    seconds=st.floats(0, 10**6),
    due=st.lists(st.tuples(st.text(), st.text()), max_size=3).map(tuple),
)


@given(results)
def test_round_trip_on_one_line(result):
    line = result.to_json()
    assert line.splitlines() == [line] or not line.isascii()
    assert "\n" not in line
    assert JobResult.from_json(line) == result


def test_the_fields_are_the_agreed_ones():
    outcome = TableOutcome(table="units", instant=Instant("20261121101010123"), rows=120, is_committed=True)
    result = JobResult(job="split", status=DONE, clock="2026-11-21T10:00:00Z", tables=(outcome,))
    assert json.loads(result.to_json()) == {
        "job": "split",
        "status": "done",
        "clock": "2026-11-21T10:00:00Z",
        "tables": [{"table": "units", "instant": "20261121101010123", "rows": 120, "is_committed": True}],
        "source": None,
        "counters": {},
        "messages": [],
        "alerts": [],
        "seconds": 0.0,
        "due": [],
        "findings": {},
    }


@pytest.mark.parametrize(
    "line", ["", "null", "[]", "{}", "INFO done", '{"job":"split","status":"done"}', '{"tables":1}']
)
def test_another_line_is_no_result(line):
    with pytest.raises(ContractError, match="not a job result"):
        JobResult.from_json(line)


def test_an_unknown_status_is_refused():
    with pytest.raises(ContractError, match="'fine' is neither"):
        JobResult(job="split", status="fine", clock="2026-11-21T10:00:00Z")
