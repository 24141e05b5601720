"""Run one job from the command line: ``python -m spark_jobs.entrypoint JOB [--option value …]``.

The last line of standard output is the job's result as JSON; everything else goes to standard error.
Exit codes: 0 done, 1 transient (try again), 2 terminal (something has to be changed first).
``--result-path URI`` before the job writes the exit code and that line, or the line of an error, to a file as well.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Never

from spark_jobs.contracts.arguments import Interval, JobArguments, parse_clock
from spark_jobs.contracts.clocks import check_run_clock, machine_now
from spark_jobs.contracts.errors import ContractError, LakehouseError
from spark_jobs.contracts.job_errors import ReportedError
from spark_jobs.contracts.names import spell
from spark_jobs.contracts.outcomes import JobOutcome
from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.secrets import DiscreetFormatter, find_secrets, hide
from spark_jobs.contracts.settings import Settings

JOBS = {
    "init": "a new lake at the base path, and its landing folder: the first command, all others need it",
    "generate": "make a seeded log of sales events in the landing folder",
    "ingest": "landing files to the event log and the quarantine, exactly once",
    "snapshot": "the first load of a table of a database, in parts, over which later change events win",
    "quarantine": "records that could not be used: a list with reasons, and replaying repaired ones",
    "load": "whole files into a table of their own: upsert, insert, overwrite or delete, as the lake spec says",
    "partitions": "which partitions a table has; removing those of a loaded table, by name or age; a plan first",
    "split": "events of the log to the tables of newest values",
    "mart": "a layer's marts, refreshed by what is new",
    "recompute": "history computed again: a plan first, and it can be undone",
    "plan": "which definitions in the files differ from those that rows were computed with, and what apply would do",
    "preview": "marts of a plan computed by their new definition and compared with their rows; nothing is changed",
    "apply": "marts of a plan computed by their new definition, after a savepoint, each in one commit",
    "undo": "marts of an applied plan restored to the rows and the definition that they had before",
    "rules": "rule versions: a table of them, or two compared over the same history",
    "serve": "a layer's marts into the serving store, each as of its newest instant",
    "spec": "the lake spec, its marts and expectations checked: every mistake by file and line",
    "schema": "columns of tables with from: a list, their history, and reviewed changes by a plan",
    "source": "where events come from and how far they are; a new epoch where positions begin again",
    "sizing": "what a lake of a given number of GB a day needs, and how its files grow; arithmetic and a simulation",
    "services": "rescale, compaction, clustering, clean and archive: which are due and why, and running them",
    "savepoint": "the whole lake kept as it is now, to query it later or to restore everything to it",
    "restore": "the whole lake restored to a savepoint, with its consumers; a plan first",
    "erase": "one person removed from the whole lake, older states and landing files included; a plan first",
    "doctor": "problems of the lake that no job reports: what they are, what they mean, and repairs",
    "consumers": "who reads which table, how far and how often; readers outside the lake are registered here",
    "changes": "what commits of a table changed between two moments, each row before and after",
    "sync": "the lake's tables in a catalog, AWS Glue or Hive: what differs, and updating it",
    "views": "what people see of the tables, and the business's views: for Athena, Trino or Spark with a catalog",
    "checks": "rules of the tables, each a SELECT whose rows break it: which there are, and what they find",
    "validate": "expectations of whole tables, checked by Great Expectations; its Data Docs as a static site",
    "freshness": "how old each table is, and whether it keeps its promise; without Spark",
    "publish": "tables held back because their newest batch failed an expectation, and accepting a batch",
    "query": "SQL over the lake's tables and views, printed as a table or written to Parquet or CSV",
}
_COMMON = frozenset({"parser", "job", "clock", "interval_start", "interval_end", "result_path"})

_ANY_CLOCK = frozenset({"freshness", "generate", "sizing"})
"""Jobs that change no table: what they say or make may be of a time that has not come yet."""
_NO_LAKE = frozenset({"generate", "init", "sizing", "spec"})
_FILES_ALONE = frozenset({("checks", "list"), ("rules", "list")})
"""Jobs, and actions of jobs, that read files of the lake spec alone; everything else needs the lake at its path."""
_NAMING = frozenset({"ingest", "snapshot", "load", "split", "mart"})
"""Jobs that write: one of them gives a lake of an earlier release its name."""
_OF_LANDING = frozenset({"ingest", "freshness", "erase"})
"""Jobs that look at landing files: where the folder is missing they would find nothing, and say so of all of it."""
_MOST_SAID = 400
"""Of what the command line finds wrong: it repeats what it was given."""
_ACTIONS = re.compile(r"(?:^|; )([a-z-]+(?:, [a-z-]+)*): ")
"""In the help of an option: the actions that take it."""

log = logging.getLogger("spark_jobs")


class _Parser(argparse.ArgumentParser):
    def __init__(self, **settings: Any) -> None:
        self.options: list[argparse.Action] = []
        super().__init__(**settings)

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:
        option = super().add_argument(*names, **settings)
        self.options.append(option)
        return option

    def check_use(self, values: Mapping[str, Any]) -> None:
        """Refuse an option of another action: its help begins with the actions that take it."""
        action = values.get("action")
        actions = {word for option in self.options if option.dest == "action" for word in option.choices or ()}
        for option in (each for each in self.options if each.option_strings):
            words = {word for found in _ACTIONS.findall(option.help or "") for word in found.split(", ")}
            if words and action in actions - words and actions >= words and values[option.dest] != option.default:
                self.error(f"{action} takes no {option.option_strings[0]}, an option of {' and '.join(sorted(words))}")

    def error(self, message: str) -> Never:
        said = spell(message).encode("ascii", "backslashreplace").decode()
        said = said if len(said) <= _MOST_SAID else f"{said[:_MOST_SAID]}..."
        raise ContractError(f"{self.prog}: {said}; see {self.prog} --help")


def build_parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """The command line: one sub-command a job, each with ``--help``.

    With ``words`` only the jobs named there get options of their own: the modules of all others need not be imported.
    """
    parser = _Parser(
        allow_abbrev=False,
        prog="python -m spark_jobs.entrypoint",
        description=__doc__.splitlines()[0] if __doc__ else None,
    )
    _add_result_path(parser)
    jobs = parser.add_subparsers(dest="job", required=True, metavar="JOB")
    for name, summary in JOBS.items():
        job = jobs.add_parser(
            name, allow_abbrev=False, help=summary, description=summary[0].upper() + summary[1:] + "."
        )
        job.add_argument("--clock", default="", metavar="TIME", help="the run's clock, ISO 8601 (default: now)")
        if name in ("split", "mart"):
            job.add_argument("--interval-start", default="", metavar="TIME", help="first event time of a backfill")
            job.add_argument("--interval-end", default="", metavar="TIME", help="end of a backfill, exclusive")
        if words is None or name in words:
            importlib.import_module(f"spark_jobs.jobs.{name}").add_options(job)
        job.set_defaults(parser=job)
    return parser


def _add_result_path(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--result-path",
        default="",
        metavar="URI",
        help="also write the outcome to this file, for a driver on a cluster whose output is not read",
    )


def _split_result_path(argv: Sequence[str]) -> tuple[str, list[str]]:
    """The file for the outcome, and the rest: known even when the rest makes no sense."""
    parser = _Parser(add_help=False, allow_abbrev=False)
    _add_result_path(parser)
    ahead = 2 if argv[:1] == ["--result-path"] else 1
    is_given = bool(argv) and argv[0].partition("=")[0] == "--result-path"
    return (parser.parse_args(argv[:ahead]).result_path, list(argv[ahead:])) if is_given else ("", list(argv))


def parse_arguments(argv: Sequence[str]) -> JobArguments:
    """Command line to job arguments; the only place where the clock may be the machine's."""
    values = vars(build_parser(argv).parse_args(argv))
    values["parser"].check_use(values)
    start, end = values.get("interval_start"), values.get("interval_end")
    if bool(start) != bool(end):
        raise ContractError("give both --interval-start and --interval-end, or neither")
    now = machine_now()
    clock = parse_clock(values["clock"]) if values["clock"] else now
    if values["job"] not in _ANY_CLOCK:
        check_run_clock(clock, now)
    return JobArguments(
        job=values["job"],
        clock=clock,
        interval=Interval(start=parse_clock(start), end=parse_clock(end)) if start and end else None,
        options={name: value for name, value in values.items() if name not in _COMMON},
    )


def run_job(arguments: JobArguments, settings: Settings) -> JobResult:
    """Open the session the settings ask for and run the job in it."""
    job = importlib.import_module(f"spark_jobs.jobs.{arguments.job}")
    begun = time.monotonic()
    try:
        result = _run(job, arguments, settings)
    except ReportedError as error:
        error.result = error.result and _timed(error.result, begun)
        raise
    return _timed(result, begun)


def _run(job: ModuleType, arguments: JobArguments, settings: Settings) -> JobResult:
    # Refused at once, not after a session has started: the place, the spec, and what the job itself can tell without.
    _check_places(arguments, settings)
    needs_spark = getattr(job, "needs_spark", None)
    if needs_spark and not needs_spark(arguments, settings):
        result: JobResult = job.run(None, arguments, settings)
        return result
    from spark_jobs.session import open_session
    from spark_jobs.storage.lake_specs import read_lake_spec

    spec = read_lake_spec(settings)
    if check := getattr(job, "check", None):
        check(spec, arguments, settings)
    spark = open_session(settings, app_name=f"lakehouse-{arguments.job}")
    try:
        result = job.run(spark, arguments, settings)
    finally:
        spark.stop()
    return result


def _check_places(arguments: JobArguments, settings: Settings) -> None:
    """Raise TerminalError when the lake of the settings is not where they say, or its landing folder is not.

    Here and not in the jobs, so that no job can forget it.
    """
    if arguments.job in _NO_LAKE or (arguments.job, arguments.options.get("action")) in _FILES_ALONE:
        return
    from spark_jobs.spec_files.spec_file import load_lake_spec
    from spark_jobs.storage.lake_names import check_landing, open_lake

    open_lake(load_lake_spec(settings.lake_spec).lake, settings, may_name=arguments.job in _NAMING)
    if arguments.job in _OF_LANDING:
        check_landing(settings)


def _timed(result: JobResult, begun: float) -> JobResult:
    return dataclasses.replace(result, seconds=round(time.monotonic() - begun, 3))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    secrets = find_secrets(os.environ)
    to_stderr = logging.StreamHandler(sys.stderr)
    to_stderr.setFormatter(DiscreetFormatter(secrets))
    logging.basicConfig(level=logging.INFO, handlers=[to_stderr])
    for noisy in ("py4j", "pyspark", "cmdstanpy"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    given = list(sys.argv[1:] if argv is None else argv)
    outcome = _run_to_its_end(lambda: _run_and_keep(given))
    print(outcome.line, file=sys.stderr if outcome.exit_code else sys.stdout, flush=True)
    return outcome.exit_code


def _run_and_keep(given: list[str]) -> JobOutcome:
    """Run the rest of the command line; how it ended is in the file before anybody is told."""
    result_path, rest = _split_result_path(given)
    outcome = _run_to_its_end(
        lambda: JobOutcome(exit_code=0, line=run_job(parse_arguments(rest), Settings.from_environment()).to_json())
    )
    if result_path:
        from spark_jobs.storage.outcome_files import write_outcome

        write_outcome(result_path, outcome)
    return outcome


def _run_to_its_end(run: Callable[[], JobOutcome]) -> JobOutcome:
    """What ``run`` gives, or what it raised as the outcome that it means."""
    try:
        return run()
    except LakehouseError as error:
        if isinstance(error, ReportedError) and error.result:
            print(error.result.to_json(), flush=True)
        told = hide(f"{'try again' if error.exit_code == 1 else 'error'}: {error}", find_secrets(os.environ))
        return JobOutcome(exit_code=error.exit_code, line=told)
    except KeyboardInterrupt:
        return JobOutcome(exit_code=1, line="stopped; nothing half-written stays: run the same command again")
    except Exception as error:
        log.exception("unexpected failure")
        reason = spell(" ".join(hide(str(error), find_secrets(os.environ)).split())[:300])
        return JobOutcome(exit_code=1, line=f"try again: {type(error).__name__}: {reason}")


if __name__ == "__main__":
    sys.exit(main())
