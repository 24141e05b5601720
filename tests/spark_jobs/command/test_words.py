"""Commands in the messages of jobs, as they are typed here."""

from __future__ import annotations

import pytest

from spark_jobs.command.grammar import VERBS, Verb
from spark_jobs.command.parameters import fields_of
from spark_jobs.command.words import in_new_words, next_command
from spark_jobs.contracts.errors import TerminalError
from spark_jobs.contracts.lake_names import NoLakeError, NoLandingError, NotEmptyError, UnnamedLakeError


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("accept it: publish accept --table units", "accept it: lakehouse quality accept units"),
        ("run: mart --layer fast --mart deals --full", "run: lakehouse run mart fast --mart deals --full"),
        ("restore --to day-1 --yes", "lakehouse restore day-1 --yes"),
        ("source new-epoch --stream 'erp' --yes", "lakehouse source new-epoch 'erp' --yes"),
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
        ("see lakehouse quarantine list", "see lakehouse quarantine list"),
    ],
)
def test_what_is_a_command_beyond_doubt_gets_its_new_name(old: str, new: str) -> None:
    assert in_new_words(old) == new


@pytest.mark.parametrize(
    "error",
    [
        NoLakeError(base_path="/x"),
        NoLandingError(landing_path="/x"),
        NotEmptyError(base_path="/x", found=["a"]),
        UnnamedLakeError(base_path="/x", lake="sales", why="of that"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_how_a_lake_is_made_is_the_command_wherever_it_is_read(error: TerminalError) -> None:
    assert ": lakehouse lake init" in str(error)
    assert in_new_words(str(error)) == str(error)


@pytest.mark.parametrize("verb", [each for each in VERBS if each.argument], ids=lambda verb: verb.path)
def test_a_command_has_its_argument_without_the_option(verb: Verb) -> None:
    """As its own parser reads it: ``--table units`` is an error where ``units`` is the argument."""
    old = f"{verb.job} {verb.action} --{verb.argument} x".replace("  ", " ")
    assert in_new_words(old) == f"lakehouse {verb.path} x"
    arguments = [each for each in fields_of(verb) if each.name == verb.argument]
    assert [each.flag for each in arguments] == [f"--{verb.argument}"]


def test_the_next_command_is_found_by_how_jobs_begin_the_line() -> None:
    assert next_command("to undo: undo --plan p.yaml --yes") == "lakehouse undo changes p.yaml --yes"
    assert next_command("units: schema apply would do it") == ""
