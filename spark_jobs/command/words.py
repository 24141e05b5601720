"""Words of the jobs as people of ``lakehouse`` see them: commands by their new names, and how a run ended."""

from __future__ import annotations

import re

from spark_jobs.command.grammar import VERBS, Asks, Ends, Verb
from spark_jobs.contracts.results import DONE, JobResult

PROGRAM = "lakehouse"
_PLAIN = {
    "plan --output": "plan --output",
    "plan --keep": "plan --keep",
}
_NAMES = {
    **{f"{verb.job} {verb.action}": verb.path for verb in VERBS if verb.action},
    **{f"{verb.job} {verb.action}".strip() + f" --{verb.argument}": verb.path for verb in VERBS if verb.argument},
    **_PLAIN,
}
"""Here an argument is written without its option."""
_OLD = re.compile(
    rf"(?<![\w-])(?<!{PROGRAM} )(?:{'|'.join(sorted(map(re.escape, _NAMES), key=len, reverse=True))})(?![\w-])"
)


def in_new_words(text: str) -> str:
    """A message of a job with its commands as they are typed here.

    Only what is a job with its action, or with the option that makes it one, is a command beyond doubt.
    """
    return _OLD.sub(lambda found: f"{PROGRAM} {_NAMES[found.group()]}", text)


def next_command(line: str) -> str:
    """The command that a message names as the next one; "" when it names none."""
    start, separator, rest = line.partition(": ")
    return in_new_words(rest) if separator and start in ("next", "to undo") else ""


def status_of(verb: Verb, result: JobResult, *, is_carried_out: bool) -> str:
    """How the run ended: ``done``, ``nothing_to_do``, ``listed``, or ``planned`` where it waits for a yes."""
    if verb.ends is not Ends.NOTHING:
        return verb.ends.value
    if verb.asks is not Asks.NOTHING and not is_carried_out:
        return Ends.PLANNED.value
    return result.status if result.status == DONE else "nothing_to_do"
