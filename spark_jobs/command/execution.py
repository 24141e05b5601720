"""One command: its plan, a yes, the job, and what is printed. It runs the job as the entry point does."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext, redirect_stdout
from typing import Any

from spark_jobs.command.grammar import Asks, Verb
from spark_jobs.command.parameters import CLOCK, END, JSON, OF_THE_COMMAND, START, VERBOSE, YES, fields_of
from spark_jobs.command.plan_file import print_plan
from spark_jobs.command.progress import Progress
from spark_jobs.command.report import print_json, print_result, say
from spark_jobs.command.words import PROGRAM, in_new_words
from spark_jobs.contracts.answers import PrintedForm
from spark_jobs.contracts.options import ACTION, JobOptions, declared_options
from spark_jobs.contracts.outcomes import JobOutcome
from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.text_table import tables_within
from spark_jobs.entrypoint import make_context, run_job, run_to_its_end
from spark_jobs.job_options.registry import options_of

PLAN_FILE = ("plan file", "")
"""In place of job and action: the plan itself is shown."""
WIDTH = 100
"""Characters of a line of the tables that are printed."""
Confirm = Callable[[], bool | None]
"""Whether a person says yes; None when there is nobody to answer."""


def carry_out(verb: Verb, values: Mapping[str, Any], *, confirm: Confirm, typed: list[str]) -> int:
    """Run a command with the values of its parameters, and return its exit code.

    Args:
        verb: which one.
        values: by the names of the job's options and of the command's own.
        confirm: asks the person at the terminal.
        typed: the words of the command line, to say how to go on.
    """
    as_json = bool(values.get(JSON)) and not verb.prints_rows

    def work() -> JobOutcome:
        with redirect_stdout(sys.stderr) if as_json else nullcontext():
            result, is_carried_out = _run(verb, values, confirm)
        _print(verb, result, as_json=as_json, is_carried_out=is_carried_out)
        if not is_carried_out:
            say(f"next: {shlex.join([PROGRAM, *typed, '--yes'])}")
        return JobOutcome(exit_code=0, line="ended")

    outcome = run_to_its_end(work, report=lambda result: _print(verb, result, as_json=as_json, is_carried_out=True))
    if outcome.exit_code:
        say(in_new_words(outcome.line))
    return outcome.exit_code


def _print(verb: Verb, result: JobResult, *, as_json: bool, is_carried_out: bool) -> None:
    if as_json:
        print_json(verb, result, is_carried_out=is_carried_out)
    else:
        print_result(verb, result, is_carried_out=is_carried_out)


def _run(verb: Verb, values: Mapping[str, Any], confirm: Confirm) -> tuple[JobResult, bool]:
    """The result, and whether it was carried out: False when it waits for a yes."""
    waits = verb.asks is not Asks.NOTHING or bool(verb.plans_with and values.get(verb.plans_with))
    if not waits or values.get(YES):
        return _job(verb, values), True
    planned = _job(verb, {**values, YES: False}) if verb.asks is not Asks.LOOK else _look(verb, values)
    if not confirm():
        return planned, False
    return _job(verb, {**values, YES: True}), True


def _look(verb: Verb, values: Mapping[str, Any]) -> JobResult:
    """What is about to be changed, shown; the options are checked all the same."""
    _options(verb, values)
    assert verb.look is not None
    job, action = verb.look
    if verb.look == PLAN_FILE:
        return print_plan(str(values["plan"]))
    shown = Verb(group="", name="", job=job, action=action)
    known = {each.name for each in fields_of(shown)}
    return _job(shown, {name: value for name, value in values.items() if name in known | OF_THE_COMMAND})


def _job(verb: Verb, values: Mapping[str, Any]) -> JobResult:
    context = make_context(
        verb.job,
        _options(verb, values),
        clock=values.get(CLOCK) or "",
        interval_start=values.get(START) or "",
        interval_end=values.get(END) or "",
    )
    watched = nullcontext() if values.get(VERBOSE) else Progress(f"{PROGRAM} {verb.path}")
    fitted = nullcontext() if verb.prints_rows else tables_within(WIDTH)
    with watched, fitted:
        return run_job(context)


def _options(verb: Verb, values: Mapping[str, Any]) -> JobOptions:
    options = options_of(verb.job)
    declared = {each.name for each in declared_options(options)}
    own = {name: value for name, value in values.items() if name in declared or " " in name}
    if verb.action:
        own[ACTION] = verb.action
    own = {**verb.defaults, **own}
    if verb.prints_rows:
        if own.get("output") and own.get("format") == PrintedForm.TABLE:
            own["format"] = ""  # the name of the file says it
        elif values.get(JSON):
            own["format"] = PrintedForm.JSON.value
    return options.from_values(own)
