"""The program ``lakehouse``: typer's commands, made from the grammar, and how the process ends."""

from __future__ import annotations

import inspect
import logging
import os
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer import TyperException

from spark_jobs.command.execution import carry_out
from spark_jobs.command.grammar import GROUPS, VERBS, Verb
from spark_jobs.command.output import results_apart
from spark_jobs.command.parameters import VERBOSE, Parameters, parameters_of
from spark_jobs.command.tables import add_sights
from spark_jobs.command.words import PROGRAM
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import spell
from spark_jobs.contracts.secrets import DiscreetFormatter, find_secrets
from spark_jobs.job_options.registry import installed_jobs

_MOST_SHOWN = 400
_HELP = "A lake of Hudi tables from the shell. Results go to standard output, all else to standard error."


def build_app(words: Sequence[str] = ()) -> typer.Typer:
    """Every command, by its name; options have those alone that the first of the words may mean.

    To read the options of all takes most of the time of a start. Those that the lake spec adds are there when their
    command is among the words.
    """
    app = _group(_HELP, completes=True)
    groups = {name: _group(help_) for name, help_ in GROUPS.items()}
    jobs = installed_jobs()
    for verb in (each for each in VERBS if each.job in jobs):
        is_meant = not words or words[0] == (verb.group or verb.name)
        made = _Command(verb, parameters_of(verb, with_spec=verb.name in words) if is_meant else None, words)
        help_ = verb.help or jobs[verb.job]
        groups.get(verb.group, app).command(verb.name, help=f"{help_[0].upper()}{help_[1:]}.")(made)
    add_sights(app, groups["table"])
    for name, group in groups.items():
        app.add_typer(group, name=name)
    return app


def _group(help_: str, *, completes: bool = False) -> typer.Typer:
    return typer.Typer(
        help=help_ if help_.endswith(".") else f"{help_[0].upper()}{help_[1:]}.",
        no_args_is_help=True,
        add_completion=completes,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
    )


class _Command:
    """The function of one command: typer reads the signature that its options make. ``words`` are those typed."""

    def __init__(self, verb: Verb, parameters: Parameters | None, words: Sequence[str]) -> None:
        self._verb, self._words = verb, words
        self._parameters = parameters or Parameters(signature=inspect.Signature(), names={})
        self.__name__ = verb.path
        self.__signature__ = self._parameters.signature
        self.__annotations__ = {name: each.annotation for name, each in self.__signature__.parameters.items()}

    def __call__(self, **given: Any) -> None:
        values = {self._parameters.names.get(name, name): value for name, value in given.items()}
        if values.get(VERBOSE):
            logging.getLogger().setLevel(logging.INFO)
        if code := carry_out(self._verb, values, confirm=ask, typed=[*self._words]):
            raise typer.Exit(code)


def ask() -> bool | None:
    """Whether the person at the terminal types yes; None when there is none."""
    if not sys.stdin.isatty():
        return None
    print("type yes to do it: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() == "yes"


def run(words: Sequence[str]) -> int:
    """Run one command line, in this process; gives the exit code of the entry point."""
    try:
        code = build_app(words)(args=list(words), prog_name=PROGRAM, standalone_mode=False)
    except typer.Abort:
        code = 1
    except TyperException as error:
        print(_usage(error.format_message()), file=sys.stderr, flush=True)
        return 2
    except ContractError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 2
    return code if isinstance(code, int) else 0


def _usage(message: str) -> str:
    text = spell(" ".join(message.split())).encode("ascii", "backslashreplace").decode()
    text = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
    return f"error: {text.rstrip('.')}; see {PROGRAM} --help"


def main() -> None:
    """The program: logs and what Java prints go to standard error, results alone to standard output."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(DiscreetFormatter(find_secrets(os.environ)))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("spark_jobs").setLevel(logging.INFO)
    handler.addFilter(_is_shown)
    for noisy in ("py4j", "pyspark", "cmdstanpy"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    with results_apart():
        code = run(sys.argv[1:])
    sys.exit(code)


def _is_shown(record: logging.LogRecord) -> bool:
    """Steps of jobs are shown with --verbose; without, they are for the progress alone."""
    return record.levelno >= logging.getLogger().level
