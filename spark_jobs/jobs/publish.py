"""publish: tables whose newest batch was held back because it broke what is expected of them, and letting one pass.

A held table stays at its last good state for every reader. When the source is corrected, the next run publishes it by
itself; ``accept`` is a person's decision that the batch is right as it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.context import Job, JobContext, never
from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.decisions import check_decision, decided_by
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.publish import PublishOptions
from spark_jobs.quality.holds import Acceptance, Hold, Holds

_HEAD = ("table", "held since", "last tried", "by", "expected, and seen")


def check(context: JobContext[PublishOptions]) -> None:
    """Raise ContractError when the table is unknown or the reason for its acceptance is missing."""
    spec, options = context.spec, context.options
    if options.action == "list":
        return
    if options.table not in spec.table_names:
        raise ContractError(
            f"lake {spec.lake} has no table {show(options.table)} (--table); it has {sorted(spec.table_names)}"
        )
    check_decision(options.because, options.by, missing="accept needs --because: why the batch is right as it is")


def run(context: JobContext[PublishOptions]) -> JobResult:
    """List what is held, or accept what a table is held for; needs no Spark.

    What is accepted counts for the expectations that the table is held for now: of a batch that was kept out for the
    next commit, of rows that are there for as many of them, until the table is right. What breaks others is held again.

    Raises:
        ContractError: the table is not held, or the reason why its batch is right is missing.
    """
    settings = context.settings
    holds = Holds(settings)
    status, messages = NOTHING_TO_DO, []
    if context.options.action == "accept":
        messages.append(_accept(context, holds))
        status = DONE
    held = holds.held()
    print(format_table(_HEAD, list(_rows(held))) if held else "nothing is held back")
    return context.result(
        status,
        counters={"held": len(held)},
        messages=tuple(messages),
    )


def _accept(context: JobContext[PublishOptions], holds: Holds) -> str:
    table, because = context.options.table or "", context.options.because or ""
    hold = holds.hold_of(table)
    if hold is None:
        raise ContractError(f"{table} is not held; publish list shows what is")
    by = decided_by(context.options.by)
    holds.accept(
        Acceptance(
            table=table,
            expectations=hold.expectations,
            because=because,
            by=by,
            at=format_clock(context.clock),
            most=hold.broken if hold.instant else (),
        )
    )
    if hold.instant:
        holds.let_go(table)
        return f"{table} is published as it is; {by} accepted {', '.join(hold.expectations)}"
    return f"the next run of {hold.job} writes {table}; {by} accepted {', '.join(hold.expectations)}"


def _rows(held: list[Hold]) -> Iterator[tuple[str, ...]]:
    for hold in held:
        yield hold.table, hold.since[:16], hold.tried_at[:16], hold.job, "; ".join(hold.reasons)


JOB = Job(options=PublishOptions, run=run, check=check, needs_spark=never)
