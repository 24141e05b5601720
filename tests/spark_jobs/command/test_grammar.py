"""Every job, and every action of one, is a command exactly once; what the old entry point takes, a command takes."""

from __future__ import annotations

from collections import Counter

import pytest

from spark_jobs.command.grammar import GROUPS, VERBS, Asks, Verb
from spark_jobs.command.parameters import fields_of
from spark_jobs.contracts.options import ACTION, declared_options
from spark_jobs.job_options.registry import JOBS, options_of


def actions_of(job: str) -> tuple[str, ...]:
    """What a job does, ("",) when it does one thing."""
    declared = {each.name: each for each in declared_options(options_of(job))}
    return declared[ACTION].choices if ACTION in declared else ("",)


def test_every_job_and_every_action_is_reached_exactly_once() -> None:
    """Undoing a recompute is the one thing that a job does by an option and that is a command of its own."""
    wanted = Counter((job, action) for job in JOBS for action in actions_of(job)) + Counter({("recompute", ""): 1})
    assert Counter((verb.job, verb.action) for verb in VERBS) == wanted


def test_no_two_commands_have_one_name_and_every_group_is_described() -> None:
    assert [path for path, count in Counter(verb.path for verb in VERBS).items() if count > 1] == []
    assert {verb.group for verb in VERBS} - {""} == {*GROUPS}
    assert not {verb.name for verb in VERBS if not verb.group} & {*GROUPS}


@pytest.mark.parametrize("job", JOBS)
def test_every_option_of_a_job_is_one_of_a_command_of_it(job: str) -> None:
    declared = {each.name for each in declared_options(options_of(job))} - {ACTION}
    taken = {each.name for verb in VERBS if verb.job == job for each in fields_of(verb)}
    assert declared - taken <= {"dry_run"}, "what is shown without --yes is the plan itself"


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.path)
def test_a_command_has_options_of_its_action_alone_and_names_that_exist(verb: Verb) -> None:
    fields = {each.name: each for each in fields_of(verb)}
    assert all(not each.option.actions or verb.action in each.option.actions for each in fields.values())
    assert not verb.argument or verb.argument in fields
    assert {*verb.defaults} <= {*fields}
    assert not verb.plans_with or {verb.plans_with, "yes"} <= {*fields}


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.path)
def test_what_needs_a_yes_asks_for_it(verb: Verb) -> None:
    """A job's own --yes comes after its plan; no command has one that does nothing."""
    has_own = "yes" in {each.name for each in fields_of(verb)}
    is_asked = verb.asks is Asks.PLAN or bool(verb.plans_with)
    listed_alone = verb.action in ("list", "check")
    assert has_own == is_asked or listed_alone
    assert (verb.asks is Asks.LOOK) == (verb.look is not None)
