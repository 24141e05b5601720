"""What is said of a job that failed: its own last clear line, else the last that it said."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lakehouse_provider.job_process import CLEAR, JobExit

NOISE = st.sampled_from(["INFO began", "  ", "", "WARN error: in the middle", "Traceback"])
SAID = st.builds(lambda start, text: f"{start}{text}", st.sampled_from(CLEAR), st.text("abc", min_size=1))


@given(before=st.lists(NOISE | SAID), last=SAID, after=st.lists(NOISE))
def test_the_last_clear_line_is_the_reason_whatever_else_was_said(
    before: list[str], last: str, after: list[str]
) -> None:
    """A driver may say what a step of it found before it says how it ended."""
    assert JobExit(code=2, last_line="", tail=(*before, last, *after)).reason == last


@given(lines=st.lists(NOISE))
def test_without_one_it_is_the_last_line_that_says_something(lines: list[str]) -> None:
    said = [line for line in lines if line.strip()]
    assert JobExit(code=137, last_line="", tail=tuple(lines)).reason == (said[-1] if said else "it said nothing")
