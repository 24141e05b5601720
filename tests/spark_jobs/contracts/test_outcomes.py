"""Outcomes survive their one line of JSON; what is none is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.outcomes import JobOutcome


@given(code=st.sampled_from([0, 1, 2]), line=st.text(min_size=1).filter(str.strip))
def test_there_and_back(code, line):
    outcome = JobOutcome(exit_code=code, line=line)
    assert JobOutcome.from_json(outcome.to_json()) == outcome
    assert "\n" not in outcome.to_json()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "[]",
        "{}",
        '{"exit_code":3,"line":"x"}',
        '{"exit_code":0,"line":" "}',
        '{"exit_code":0,"line":1}',
        "null",
    ],
)
def test_what_is_no_outcome(text):
    with pytest.raises(ContractError):
        JobOutcome.from_json(text)
