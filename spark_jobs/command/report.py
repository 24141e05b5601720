"""What a command prints of a job's result: the result alone on standard output, what is about it on standard error."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from spark_jobs.command.grammar import Verb
from spark_jobs.command.words import in_new_words, next_command, status_of
from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.text_table import format_table

_TABLES = ("table", "rows written", "instant")


def say(line: str) -> None:
    """One line for people, apart from results."""
    print(line, file=sys.stderr, flush=True)


def print_json(verb: Verb, result: JobResult, *, is_carried_out: bool) -> None:
    """The job's result as one line of JSON, with the word that people see for its status."""
    values = asdict(result) | {"status": status_of(verb, result, is_carried_out=is_carried_out)}
    print(json.dumps(values, separators=(",", ":"), ensure_ascii=False), flush=True)


def print_result(verb: Verb, result: JobResult, *, is_carried_out: bool) -> None:
    """For people: the tables that were written and what the job reports; how it ended comes last but for a command."""
    written = [(each.table, each.rows, str(each.instant or "-")) for each in result.tables if each.is_committed]
    if written:
        print(format_table(_TABLES, written))
    following = [command for line in result.messages if (command := next_command(line))]
    for line in (each for each in result.messages if not next_command(each) and not _asks_for_yes(each)):
        (say if verb.prints_rows else print)(in_new_words(line))
    for line in result.alerts:
        say(f"alert: {in_new_words(line)}")
    sys.stdout.flush()
    word = status_of(verb, result, is_carried_out=is_carried_out).replace("_", " ")
    say(f"{word} in {result.seconds:.1f} s")
    for command in following:
        say(f"next: {command}")


def _asks_for_yes(line: str) -> bool:
    """The command itself says how to go on."""
    return line.startswith("nothing was ") and line.endswith("--yes")
