"""Run one job from the command line: ``python -m spark_jobs.entrypoint JOB [--option value …]``.

The last line of standard output is the job's result as JSON; everything else goes to standard error.
Exit codes: 0 done, 1 transient (try again), 2 terminal (something has to be changed first).
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import logging
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Never

from spark_jobs.contracts.arguments import Interval, JobArguments, parse_clock
from spark_jobs.contracts.errors import ContractError, LakehouseError
from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.settings import Settings

JOBS = {
    "generate": "make a seeded log of sales events in the landing folder",
    "ingest": "landing files to the event log and the quarantine, exactly once",
    "split": "events of the log to the tables of newest values",
    "mart": "a layer's marts, brought on by what is new",
    "recompute": "history computed again: a plan first, the way back kept",
    "rules": "rule versions: a table of them, or two laid side by side over the same history",
    "serve": "a layer's marts into the serving store, each as of its newest instant",
    "spec": "the lake spec and its marts looked through: whether each mart's mode is right for its SQL",
    "services": "rescale, compaction, clustering, clean and archive: which are due and why, and doing them",
    "savepoint": "the whole lake kept as it is now, to read it later or to take everything back to it",
    "restore": "the whole lake taken back to a savepoint, with its consumers; a plan first",
    "erase": "one person taken out of the whole lake, older states and landing files included; a plan first",
    "doctor": "what is wrong with the lake that nobody notices, what it means, and putting it right",
    "consumers": "who reads which table, how far and how often; readers outside the lake are registered here",
    "changes": "what commits of a table changed between two moments, each row before and after",
    "sync": "the lake's tables in a catalog, AWS Glue or Hive: what differs, and bringing it up to date",
    "views": "what people see of the tables, and the business's views: for Athena, Trino or Spark with a catalog",
    "query": "SQL over the lake's tables and views, printed as a table",
}
_COMMON = frozenset({"job", "clock", "interval_start", "interval_end"})

log = logging.getLogger("spark_jobs")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Never:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def build_parser() -> argparse.ArgumentParser:
    """The command line: one sub-command a job, each with ``--help``."""
    parser = _Parser(prog="python -m spark_jobs.entrypoint", description=__doc__.splitlines()[0] if __doc__ else None)
    jobs = parser.add_subparsers(dest="job", required=True, metavar="JOB")
    for name, summary in JOBS.items():
        job = jobs.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        job.add_argument("--clock", default="", metavar="TIME", help="the run's clock, ISO 8601 (default: now)")
        if name in ("split", "mart"):
            job.add_argument("--interval-start", default="", metavar="TIME", help="first event time of a backfill")
            job.add_argument("--interval-end", default="", metavar="TIME", help="end of a backfill, exclusive")
        importlib.import_module(f"spark_jobs.jobs.{name}").add_options(job)
    return parser


def parse_arguments(argv: Sequence[str]) -> JobArguments:
    """Command line to job arguments; the only place where the clock may be the machine's."""
    values = vars(build_parser().parse_args(argv))
    start, end = values.get("interval_start"), values.get("interval_end")
    if bool(start) != bool(end):
        raise ContractError("give both --interval-start and --interval-end, or neither")
    return JobArguments(
        job=values["job"],
        clock=parse_clock(values["clock"]) if values["clock"] else datetime.now(UTC),
        interval=Interval(start=parse_clock(start), end=parse_clock(end)) if start and end else None,
        options={name: value for name, value in values.items() if name not in _COMMON},
    )


def run_job(arguments: JobArguments, settings: Settings) -> JobResult:
    """Open the session the settings ask for and run the job in it."""
    job = importlib.import_module(f"spark_jobs.jobs.{arguments.job}")
    begun = time.monotonic()
    needs_spark = getattr(job, "needs_spark", None)
    if needs_spark and not needs_spark(arguments, settings):
        result: JobResult = job.run(None, arguments, settings)
    else:
        from spark_jobs.contracts.spec_file import load_lake_spec
        from spark_jobs.session import open_session

        # Refused at once, not after a session has started: the spec, and what the job itself can tell without one.
        spec = load_lake_spec(settings.lake_spec)
        if check := getattr(job, "check", None):
            check(spec, arguments, settings)
        spark = open_session(settings, app_name=f"lakehouse-{arguments.job}")
        try:
            result = job.run(spark, arguments, settings)
        finally:
            spark.stop()
    return dataclasses.replace(result, seconds=round(time.monotonic() - begun, 3))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    for noisy in ("py4j", "pyspark", "cmdstanpy"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    try:
        result = run_job(parse_arguments(sys.argv[1:] if argv is None else argv), Settings.from_environment())
        print(result.to_json(), flush=True)
    except LakehouseError as error:
        print(f"{'try again' if error.exit_code == 1 else 'error'}: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("stopped; nothing half-written stays: run the same command again", file=sys.stderr)
        return 1
    except Exception as error:
        log.exception("unexpected failure")
        print(f"try again: {type(error).__name__}: {' '.join(str(error).split())[:300]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
