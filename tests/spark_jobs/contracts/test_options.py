"""Options are declared once: their command line, the checks, and what is wrong with a class that declares them.

``Made`` has one option of each kind.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.options import JobOptions, Option, declared_options


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made(JobOptions):
    takes_interval: ClassVar[bool] = True

    action: Annotated[Literal["make", "drop", "list"], Option("what to do", is_positional=True)]
    name: Annotated[str, Option("which one", flag="--of")]
    colour: Annotated[Colour | None, Option("its colour")] = None
    label: Annotated[str, Option("its label", actions=("make",))] = "plain"
    keep: Annotated[int | None, Option("how many", actions=("make", "drop"), at_least=1)] = None
    weight: Annotated[float, Option("in kg")] = 1.5
    yes: Annotated[bool, Option("do it")] = False
    wrapped: Annotated[bool | None, Option("in paper")] = None
    sizes: Annotated[tuple[int, ...], Option("of each", excludes="one size")] = ()
    parts: Annotated[tuple[str, ...], Option("one by one", is_repeated=True)] = ()


def parsed(*words: str) -> Made:
    parser = argparse.ArgumentParser(exit_on_error=False, allow_abbrev=False)
    Made.add_to(parser)
    return Made.from_values(vars(parser.parse_args(words)))


def test_what_is_not_given_has_its_default():
    assert parsed("list", "--of", "x") == Made(action="list", name="x")


WORDS: dict[str, st.SearchStrategy[Any]] = {
    "colour": st.none() | st.sampled_from(Colour),
    "weight": st.floats(0, 100),
    "yes": st.booleans(),
    "wrapped": st.none() | st.booleans(),
    "sizes": st.lists(st.integers(0, 9), max_size=3).map(tuple),
    "parts": st.lists(st.text("abc,", min_size=1), max_size=3).map(tuple),
}


@given(st.fixed_dictionaries(WORDS))
def test_what_is_given_comes_back_with_its_type(values: dict[str, Any]):
    words = ["list", "--of=x", f"--weight={values['weight']!r}"]
    words += [f"--colour={values['colour'].value}"] if values["colour"] else []
    words += ["--yes"] * values["yes"]
    words += [] if values["wrapped"] is None else ["--wrapped" if values["wrapped"] else "--no-wrapped"]
    words += [f"--parts={part}" for part in values["parts"]]
    words += ["--sizes", *map(str, values["sizes"])] if values["sizes"] else []
    assert parsed(*words) == Made(action="list", name="x", **values)


def test_what_is_required_has_no_default():
    assert {each.name for each in declared_options(Made) if each.is_required} == {"action", "name"}
    for words in (["list"], ["--of", "x"]):
        parser = argparse.ArgumentParser(allow_abbrev=False)
        Made.add_to(parser)
        with pytest.raises(SystemExit):
            parser.parse_args(words)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"action": "list", "label": "fine"}, "list takes no --label, an option of make"),
        ({"action": "list", "keep": 2}, "list takes no --keep, an option of drop and make"),
        ({"action": "make", "keep": 0}, "--keep 0 must be at least 1"),
    ],
)
def test_what_does_not_fit_together_is_refused_also_without_a_command_line(given: dict[str, Any], why: str):
    with pytest.raises(ContractError, match=why):
        Made(name="x", **given)
    with pytest.raises(ContractError, match=why):
        Made.from_values({"name": "x", **given})


def test_an_option_of_the_action_is_taken_and_its_default_by_every_action():
    assert Made(action="make", name="x", label="fine", keep=1).keep == 1
    assert Made(action="list", name="x", label="plain").label == "plain"


def test_one_text_is_one_value_and_not_its_letters():
    assert Made.from_values({"action": "list", "name": "x", "parts": "abc"}).parts == ("abc",)


def test_an_empty_text_counts_as_not_given():
    assert parsed("make", "--of", "x", "--label=").label == "plain"
    assert parsed("make", "--of=").name == "", "where there is no default it is what was given"


def test_the_help_names_the_actions_before_the_text():
    helps = {each.name: each.help for each in declared_options(Made)}
    assert helps["keep"] == "make, drop: how many"
    assert helps["weight"] == "in kg"


def test_names_of_options_are_those_of_the_command_line_in_tasks_too():
    words = {each.name: (each.flag, each.word) for each in declared_options(Made)}
    assert words["name"] == ("--of", "of")
    assert words["action"] == ("action", "action")


def test_what_no_option_is_called_is_refused():
    with pytest.raises(KeyError):
        Made.from_values({"action": "list", "name": "x", "nmae": 1})
