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
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Never

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.arguments import Interval, parse_clock
from spark_jobs.contracts.clocks import check_run_clock, machine_now
from spark_jobs.contracts.errors import ContractError, LakehouseError
from spark_jobs.contracts.job_errors import ReportedError
from spark_jobs.contracts.names import spell
from spark_jobs.contracts.options import JobOptions
from spark_jobs.contracts.outcomes import JobOutcome
from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.secrets import DiscreetFormatter, find_secrets, hide
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.stages import STAGES, Stage
from spark_jobs.job_options.registry import installed_jobs, options_of
from spark_jobs.reporting.reporter import RunReporter
from spark_jobs.reporting.runs import RunEnd, outcome_of

_COMMON = frozenset({"parser", "job", "clock", "interval_start", "interval_end", "result_path"})
_MOST_SHOWN = 400
"""Of what the command line finds wrong: it repeats what it was given."""

log = logging.getLogger("spark_jobs")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Never:
        text = spell(message).encode("ascii", "backslashreplace").decode()
        text = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
        raise ContractError(f"{self.prog}: {text}; see {self.prog} --help")


def build_parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """The command line: one sub-command a job, each with ``--help``.

    With ``words`` only the jobs named there get options of their own.
    """
    parser = _Parser(
        allow_abbrev=False,
        prog="python -m spark_jobs.entrypoint",
        description=__doc__.splitlines()[0] if __doc__ else None,
    )
    _add_result_path(parser)
    jobs = parser.add_subparsers(dest="job", required=True, metavar="JOB")
    for name, summary in installed_jobs().items():
        job = jobs.add_parser(
            name, allow_abbrev=False, help=summary, description=summary[0].upper() + summary[1:] + "."
        )
        job.add_argument("--clock", default="", metavar="TIME", help="the run's clock, ISO 8601 (default: now)")
        options = options_of(name) if words is None or name in words else JobOptions
        if options.takes_interval:
            job.add_argument("--interval-start", default="", metavar="TIME", help="first event time of a backfill")
            job.add_argument("--interval-end", default="", metavar="TIME", help="end of a backfill, exclusive")
        options.add_to(job)
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


def load_job(name: str) -> Job[Any]:
    """What the module of a job gives."""
    job: Job[Any] = importlib.import_module(f"spark_jobs.jobs.{name}").JOB
    return job


def parse_arguments(argv: Sequence[str]) -> JobContext[Any]:
    """Command line to the context of a run, without spec and session; nothing else looks at the machine's clock.

    Raises:
        ContractError: it makes no sense.
    """
    values = vars(build_parser(argv).parse_args(argv))
    job, parser = values["job"], values["parser"]
    try:
        options = options_of(job).from_values({name: given for name, given in values.items() if name not in _COMMON})
    except ContractError as error:
        parser.error(str(error))
    start, end = values.get("interval_start") or "", values.get("interval_end") or ""
    return make_context(job, options, clock=values["clock"], interval_start=start, interval_end=end)


def make_context(
    job: str, options: JobOptions, *, clock: str = "", interval_start: str = "", interval_end: str = ""
) -> JobContext[Any]:
    """The context of a run with these options, without spec and session; times as people write them, "" for none.

    Raises:
        ContractError: a time makes no sense.
    """
    if bool(interval_start) != bool(interval_end):
        raise ContractError("give both --interval-start and --interval-end, or neither")
    now = machine_now()
    at = parse_clock(clock) if clock else now
    if not options.takes_any_clock:
        check_run_clock(at, now)
    interval = Interval(start=parse_clock(interval_start), end=parse_clock(interval_end)) if interval_start else None
    return JobContext(job=job, clock=at, interval=interval, options=options, settings=Settings.from_environment())


def run_job(context: JobContext[Any]) -> JobResult:
    """Run the job, in a session as the settings define it where it needs one, and report it to who is configured."""
    begun, started, reporter = time.monotonic(), machine_now(), RunReporter()
    STAGES.take()
    result: JobResult | None = None
    error: BaseException | None = None
    try:
        # Checked before a session is started: the place, the spec, and what the job itself can check without Spark.
        context = with_lake(context)
        reporter.begin(context, started)
        result = _timed(_run(load_job(context.job), context), begun)
        return result
    except BaseException as raised:
        error = raised
        if isinstance(raised, ReportedError):
            result = raised.result = raised.result and _timed(raised.result, begun)
        raise
    finally:
        reporter.end(
            RunEnd(
                context=context,
                outcome=outcome_of(result, error),
                begun=started,
                ended=machine_now(),
                seconds=time.monotonic() - begun,
                result=result,
                measures=STAGES.take(),
            )
        )


def _run(job: Job[Any], context: JobContext[Any]) -> JobResult:
    job.check(context)
    if not job.needs_spark(context):
        return job.run(context)
    from spark_jobs.session import open_session

    with STAGES.passed(Stage.SESSION):
        spark = open_session(context.settings, app_name=f"lakehouse-{context.job}")
    try:
        return job.run(dataclasses.replace(context, session=spark))
    finally:
        spark.stop()


def with_lake(context: JobContext[Any]) -> JobContext[Any]:
    """The context with the lake spec of its settings, read once; unchanged for a job that works without one.

    Here and not in the jobs, so that no job can forget to look whether the lake is where the settings say.

    Raises:
        TerminalError: the spec cannot be used, or the lake is not there, or its landing folder is not.
    """
    options, settings = context.options, context.settings
    if not options.reads_spec:
        return context
    from spark_jobs.spec_files.spec_file import load_lake_spec
    from spark_jobs.storage.lake_names import check_landing, open_lake
    from spark_jobs.storage.lake_specs import resolve_lake_spec

    spec = load_lake_spec(settings.lake_spec)
    if options.needs_lake:
        open_lake(spec.lake, settings, may_name=options.names_lake)
        if options.reads_landing:
            check_landing(settings)
    return dataclasses.replace(context, lake=resolve_lake_spec(spec, settings))


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
    outcome = run_to_its_end(lambda: _run_and_keep(given))
    print(outcome.line, file=sys.stderr if outcome.exit_code else sys.stdout, flush=True)
    return outcome.exit_code


def _run_and_keep(given: list[str]) -> JobOutcome:
    """Run the rest of the command line; the outcome is in the file before it is printed."""
    result_path, rest = _split_result_path(given)
    outcome = run_to_its_end(lambda: JobOutcome(exit_code=0, line=run_job(parse_arguments(rest)).to_json()))
    if result_path:
        from spark_jobs.storage.outcome_files import write_outcome

        write_outcome(result_path, outcome)
    return outcome


def _print_line(result: JobResult) -> None:
    print(result.to_json(), flush=True)


def run_to_its_end(run: Callable[[], JobOutcome], *, report: Callable[[JobResult], None] = _print_line) -> JobOutcome:
    """What ``run`` gives, or what it raised as the outcome that it means.

    ``report`` is given the result of a job that found what must not be.
    """
    try:
        return run()
    except LakehouseError as error:
        if isinstance(error, ReportedError) and error.result:
            report(error.result)
        line = hide(f"{'try again' if error.exit_code == 1 else 'error'}: {error}", find_secrets(os.environ))
        return JobOutcome(exit_code=error.exit_code, line=line)
    except KeyboardInterrupt:
        return JobOutcome(exit_code=1, line="stopped; nothing half-written stays: run the same command again")
    except Exception as error:
        log.exception("unexpected failure")
        reason = spell(" ".join(hide(str(error), find_secrets(os.environ)).split())[:300])
        return JobOutcome(exit_code=1, line=f"try again: {type(error).__name__}: {reason}")


if __name__ == "__main__":
    sys.exit(main())
