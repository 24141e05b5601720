"""How far a consumer is: commits 1 to 9 of a source, of which each may be read to a file within it."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.checkpoints import Checkpoint, furthest_behind, instant_of, needed_from
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import BEGINNING, Instant

HASH = "0123456789ab"


def at(number: int) -> Instant:
    return Instant(f"{number:017d}")


def within(after: int, begun: int, files: int) -> Checkpoint:
    return Checkpoint(instant=at(after), begun=at(begun), files=files, listing=HASH)


def read_by(checkpoint: Checkpoint) -> set[tuple[int, int]]:
    """By plain sets: the files (commit, number) that were read of nine commits with twelve files each."""
    whole = {number for number in range(1, 10) if at(number) <= checkpoint.instant}
    # What is between the instant and the commit that was begun has no rows of its own.
    whole |= {number for number in range(1, 10) if checkpoint.begun and at(number) < checkpoint.begun}
    files = {(number, file) for number, file in product(whole, range(12))}
    return files | {(int(checkpoint.begun), file) for file in range(checkpoint.files) if checkpoint.begun}


wholes = st.builds(lambda number: Checkpoint(instant=at(number)), st.integers(0, 9))
parts = st.builds(
    lambda after, gap, files: within(after, after + gap, files),
    st.integers(0, 6),
    st.integers(1, 3),
    st.integers(1, 11),
)
checkpoints = wholes | parts


@given(checkpoints, checkpoints)
def test_less_is_what_holds_fewer_files(one: Checkpoint, other: Checkpoint) -> None:
    assert (one < other) is (len(read_by(one)) < len(read_by(other)))


@given(st.lists(checkpoints, min_size=1, max_size=5))
def test_a_consumer_that_starts_at_the_furthest_behind_skips_nothing(found: list[Checkpoint]) -> None:
    slowest = Checkpoint.parse(furthest_behind(map(str, found)))
    assert slowest in found
    assert all(read_by(slowest) <= read_by(each) for each in found)


@given(checkpoints)
def test_a_text_is_read_as_what_it_was_written_of(checkpoint: Checkpoint) -> None:
    text = str(checkpoint)
    assert Checkpoint.parse(text) == checkpoint
    assert instant_of(text) == checkpoint.instant
    assert needed_from(text) == (checkpoint.begun or checkpoint.instant)


@given(parts, st.integers(0, 9))
def test_a_text_sorts_behind_its_instant_and_before_later_ones(part: Checkpoint, number: int) -> None:
    assert (str(part) > at(number)) is (part.instant >= at(number))


def test_without_anything_read_it_is_the_beginning() -> None:
    assert str(Checkpoint()) == BEGINNING
    assert needed_from("") == instant_of("") == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        f"{at(1)}/",
        f"{at(1)}/{at(2)}",
        f"{at(1)}/{at(2)}/3",
        f"{at(1)}/{at(2)}/0/{HASH}",
        f"{at(1)}/{at(2)}/-1/{HASH}",
        f"{at(1)}/{at(2)}/03/{HASH}",
        f"{at(1)}/{at(2)}/3/{HASH}0",
        f"{at(1)}/{at(2)}/3/{HASH}\n",
        f"{at(1)}/2/3/{HASH}",
        f"{at(1)}/{at(2)}/3/{HASH.upper()}",
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ContractError, match=re.escape("is not a checkpoint; remove the consumer's file")):
        Checkpoint.parse(text)


@pytest.mark.parametrize("begun", [1, 2])
def test_a_commit_is_begun_after_what_was_read(begun: int) -> None:
    with pytest.raises(ContractError, match=r"cannot be read in part"):
        within(2, begun, 3)


@pytest.mark.parametrize("fields", [{"begun": at(2)}, {"files": 2}, {"listing": HASH}, {"begun": at(2), "files": 1}])
def test_a_place_within_a_commit_is_whole(fields: dict[str, Any]) -> None:
    with pytest.raises(ContractError, match=r"needs the commit, a number of files and their hash"):
        Checkpoint(instant=at(1), **fields)
