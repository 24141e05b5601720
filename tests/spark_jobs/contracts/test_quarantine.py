"""Which records a command is about, and what a history says: without an engine."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.quarantine import (
    Attempt,
    Decisions,
    Selection,
    State,
    check_reason,
    check_state,
    lost_decisions,
    parse_history,
)
from spark_jobs.contracts.rejections import Reason
from tests.support.hostile_names import HOSTILE, is_clear

HASH = "0123456789abcdef" * 4
ATTEMPTS = st.builds(Attempt, at=st.text(), by=st.text(), action=st.text(), because=st.text(), outcome=st.text())
NOTHING: dict[str, Any] = {"record": None, "reason": None, "rule": None, "is_all": False}
GIVEN = st.fixed_dictionaries({
    "record": st.sampled_from([None, HASH[:4], HASH]),
    "reason": st.sampled_from([None, "not_json"]),
    "rule": st.sampled_from([None, "not_negative"]),
    "is_all": st.booleans(),
})  # fmt: skip


@given(GIVEN)
def test_records_are_chosen_in_one_way_or_not_at_all(options):
    chosen = {name: value for name, value in options.items() if value}
    if len(chosen) == 1:
        selection = Selection.of(**options)
        wanted = {"record": "", "reason": "", "rule": "", **chosen}
        assert asdict(selection) == {name: wanted[name] for name in ("record", "reason", "rule")}
    else:
        with pytest.raises(ContractError, match="in one way"):
            Selection.of(**options)


@pytest.mark.parametrize("name", ["record", "reason", "rule"])
def test_an_empty_word_does_not_mean_every_record(name):
    with pytest.raises(ContractError, match=f"--{name} is empty"):
        Selection.of(**{**NOTHING, name: ""})


@pytest.mark.parametrize("text", ["012", HASH + "0", HASH[:-1] + "G", "ABCD", "0123\n", "%123", " 0123"])
def test_what_is_no_beginning_of_a_hash_is_refused(text):
    with pytest.raises(ContractError, match="is no beginning of a hash"):
        Selection(record=text)


@pytest.mark.parametrize("what", ["record", "reason", "rule"])
def test_no_way_to_choose_takes_a_hostile_name(what):
    """It is part of a question to the table, and of a message."""
    for name in HOSTILE.values():
        with pytest.raises(ContractError) as caught:
            Selection(**{what: name})
        assert is_clear(str(caught.value), most=600), name
        with pytest.raises(ContractError):
            Selection.of(**{**NOTHING, what: name})


def test_unknown_words_are_refused_with_the_known_ones():
    for reason in Reason:
        check_reason(reason.value)
    for state in State:
        check_state(state.value)
    with pytest.raises(ContractError, match="bad_decimal, bad_file"):
        check_reason("bad")
    with pytest.raises(ContractError, match="open, replayed, discarded"):
        check_state("closed")


@given(st.lists(ATTEMPTS))
def test_a_history_is_read_as_it_was_written(attempts):
    assert parse_history(json.dumps([asdict(each) for each in attempts])) == tuple(attempts)
    assert parse_history(None) == ()


@given(
    st.lists(st.builds(Decisions, replayed=st.integers(0, 9), repaired=st.integers(0, 9), discarded=st.integers(0, 9)))
)
def test_decisions_of_several_commits_add_up(decided: list[Decisions]) -> None:
    total = sum((Decisions.from_json(each.to_json()) for each in decided), start=Decisions.from_json(None))
    for name in ("replayed", "repaired", "discarded"):
        assert getattr(total, name) == sum(getattr(each, name) for each in decided)
    assert bool(lost_decisions(total)) == bool(total.replayed or total.discarded)


def test_what_a_restore_takes_back_of_decisions() -> None:
    assert lost_decisions(Decisions(replayed=3, repaired=1, discarded=2)) == (
        "quarantine: 3 records were replayed and 2 discarded after the savepoint, and 1 of them in a repaired form "
        "that is not kept: have those files ready; they are open again, so decide again",
    )
    assert lost_decisions(Decisions(discarded=1)) == (
        "quarantine: 1 discarded after the savepoint; they are open again, so decide again",
    )
