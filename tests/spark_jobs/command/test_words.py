"""Commands in the messages of jobs, as they are typed here."""

from __future__ import annotations

import pytest

from spark_jobs.command.words import in_new_words, next_command


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("accept it: publish accept --table units", "accept it: lakehouse quality accept --table units"),
        (
            "next: preview --plan p.yaml, then: apply --plan p.yaml",
            "next: lakehouse preview p.yaml, then: lakehouse apply p.yaml",
        ),
        ("to undo: recompute --undo r-1 --yes", "to undo: lakehouse undo recompute r-1 --yes"),
        ("to undo: undo --plan p.yaml --yes", "to undo: lakehouse undo changes p.yaml --yes"),
        ("make one with: plan --output FILE", "make one with: lakehouse plan --output FILE"),
        ("see savepoint list", "see lakehouse savepoint list"),
        ("the split of an apply; plan ahead", "the split of an apply; plan ahead"),
        ("re-sync planned", "re-sync planned"),
    ],
)
def test_what_is_a_command_beyond_doubt_gets_its_new_name(old: str, new: str) -> None:
    assert in_new_words(old) == new


def test_the_next_command_is_found_by_how_jobs_begin_the_line() -> None:
    assert next_command("to undo: undo --plan p.yaml --yes") == "lakehouse undo changes p.yaml --yes"
    assert next_command("units: schema apply would do it") == ""
