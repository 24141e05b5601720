"""Every job has its options and its module, and what both say fits together."""

from __future__ import annotations

import argparse
import inspect
from pathlib import Path

import pytest

from spark_jobs.contracts.options import ACTION, declared_options
from spark_jobs.entrypoint import load_job
from spark_jobs.job_options.registry import JOBS, options_of

JOB_FOLDER = Path(__file__).resolve().parents[3] / "spark_jobs" / "jobs"


def test_every_module_of_a_job_is_registered_and_the_other_way_round():
    assert {path.stem for path in JOB_FOLDER.glob("*.py")} - {"__init__"} == {*JOBS}


@pytest.mark.parametrize("job", JOBS)
def test_a_job_takes_the_options_that_are_registered_for_it(job: str):
    assert load_job(job).options is options_of(job)


@pytest.mark.parametrize("job", JOBS)
def test_options_name_actions_that_there_are(job: str):
    declared = {each.name: each for each in declared_options(options_of(job))}
    actions = {*declared[ACTION].choices} if ACTION in declared else set()
    assert [each.name for each in declared.values() if not actions >= {*each.option.actions}] == []
    assert [each.name for each in declared.values() if {*each.option.actions} == actions != set()] == []


@pytest.mark.parametrize("job", JOBS)
def test_every_option_has_a_text_and_a_default_of_its_type(job: str):
    for each in declared_options(options_of(job)):
        assert each.help, each.name
        is_right = (
            each.is_required or each.default is None or isinstance(each.default, tuple if each.is_many else each.type)
        )
        assert is_right, each.name


@pytest.mark.parametrize("job", JOBS)
def test_the_command_line_of_a_job_can_be_made(job: str):
    parser = argparse.ArgumentParser(prog=job, allow_abbrev=False)
    options_of(job).add_to(parser)
    assert parser.format_help()


def test_no_class_has_fields_that_are_no_options_but_where_the_spec_adds_some():
    for job in JOBS:
        made = options_of(job)
        fields = {*inspect.signature(made).parameters}
        others = fields - {each.name for each in declared_options(made)}
        assert (others != set()) == made.grows_by_spec, job
