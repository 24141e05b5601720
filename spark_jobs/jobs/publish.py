"""publish: tables whose newest batch was held back because it broke what is expected of them, and letting one pass.

A held table stays at its last good state for every reader. When the source is corrected, the next run publishes it by
itself; ``accept`` is a person's word that the batch is right as it is.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.said import check_said, said_by
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.quality.holds import Acceptance, Hold, Holds
from spark_jobs.storage.lake_specs import read_lake_spec

_HEAD = ("table", "held since", "last tried", "by", "expected, and seen")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument(
        "action",
        choices=["list", "accept"],
        help="list: what is held back, and why; accept: let the next run publish what a table is held for",
    )
    parser.add_argument("--table", help="accept: the table")
    parser.add_argument("--because", help="accept: why its batch is right; kept with the commit")
    parser.add_argument("--by", help="accept: who decided (default: the user of this machine)")


def needs_spark(arguments: JobArguments, settings: Settings) -> bool:
    """It reads and writes small files beside the tables."""
    return False


def _check(spec: LakeSpec, arguments: JobArguments) -> None:
    """Raise ContractError when what is to be accepted is not said in full."""
    options = arguments.options
    if options.get("table") not in spec.table_names:
        raise ContractError(
            f"lake {spec.lake} has no table {show(options.get('table'))} (--table); it has {sorted(spec.table_names)}"
        )
    check_said(options, missing="accept needs --because: why the batch is right as it is")


def run(spark: None, arguments: JobArguments, settings: Settings) -> JobResult:
    """List what is held, or accept what a table is held for; needs no Spark.

    What is accepted counts for the expectations that the table is held for now: of a batch that was kept out for the
    next commit, of rows that are there for as many of them, until the table is right. What breaks others is held again.

    Raises:
        ContractError: the table is not held, or it is not said why its batch is right.
    """
    spec, holds = read_lake_spec(settings), Holds(settings)
    status, messages = NOTHING_TO_DO, []
    if arguments.options["action"] == "accept":
        _check(spec, arguments)
        messages.append(_accept(holds, arguments))
        status = DONE
    held = holds.held()
    print(format_table(_HEAD, list(_rows(held))) if held else "nothing is held back")
    return JobResult(
        job=arguments.job,
        status=status,
        clock=format_clock(arguments.clock),
        counters={"held": len(held)},
        messages=tuple(messages),
    )


def _accept(holds: Holds, arguments: JobArguments) -> str:
    table, options = arguments.options["table"], arguments.options
    hold = holds.hold_of(table)
    if hold is None:
        raise ContractError(f"{table} is not held; publish list shows what is")
    by = said_by(options)
    holds.accept(
        Acceptance(
            table=table,
            expectations=hold.expectations,
            because=options["because"],
            by=by,
            at=format_clock(arguments.clock),
            most=hold.broken if hold.instant else (),
        )
    )
    if hold.instant:
        holds.let_go(table)
        return f"{table} is published as it is; {by} accepted {', '.join(hold.expectations)}"
    return f"the next run of {hold.job} writes {table}; {by} accepted {', '.join(hold.expectations)}"


def _rows(held: list[Hold]) -> Iterator[tuple[str, ...]]:
    for hold in held:
        yield hold.table, hold.since[:16], hold.tried_at[:16], hold.job, "; ".join(hold.told)
