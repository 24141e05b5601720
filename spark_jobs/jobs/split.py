"""split: events of the log merged into the tables, one read of the log for those that are equally far."""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.arguments import names_of
from spark_jobs.contracts.errors import ContractError, LakehouseError
from spark_jobs.contracts.job_errors import TablesFailedError
from spark_jobs.contracts.names import show_all
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, TO_CHECK, JobResult, SourceWindow
from spark_jobs.job_options.split import SplitOptions
from spark_jobs.lake_spec.table_sources import matches, parts_of, schema_in
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.pipelines.columns import unresolved_lines
from spark_jobs.pipelines.merge.engine import Merge
from spark_jobs.pipelines.merge.merged import MergeOutcome
from spark_jobs.pipelines.merge.tables import targets_of
from spark_jobs.pipelines.validation import count_to_check
from spark_jobs.quality.holds import Holds
from spark_jobs.storage.lease import hold_tables

_MOST_REASON = 200


def check(context: JobContext[SplitOptions]) -> None:
    """Raise ContractError when the patterns fit none of the lake's tables."""
    _chosen(context)


def run(context: JobContext[SplitOptions]) -> JobResult:
    """Merge what is new in the log into every table.

    Without an interval: what was committed since the table's checkpoint. With one (a backfill): every event of these
    event dates once more; the merge is idempotent, so tables that are right stay as they are, and the checkpoint too.
    Patterns narrow it to some tables.

    Raises:
        GateStoppedError: an expectation stopped the tables of the wide log; every other table was written.
        TablesFailedError: some tables could not be written; everything else was.
    """
    settings = context.settings
    spec = context.spec
    chosen = _chosen(context)
    merged = MergeOutcome()
    if spec.tables:  # a lake of patterns has none before its first events
        with hold_tables(spec.split_tables, job=context.job, settings=settings):
            merged = Merge(context=context, chosen=chosen).run()
    failed = dict(merged.failed)
    if merged.blocked:
        failed |= {table.name: merged.blocked for table in chosen if not table.is_mirror}
    Holds(settings).release({table.name for table in chosen} - {*failed})
    result = _result(context, chosen, merged)
    errors = list(failed.values())
    if merged.blocked and all(error is merged.blocked for error in errors):
        raise merged.blocked
    if errors:
        why = {table: " ".join(str(error).split())[:_MOST_REASON] for table, error in failed.items()}
        raise TablesFailedError(failed=why, result=result, exit_code=exit_code_of(failed))
    return result


def exit_code_of(failed: Mapping[str, Exception]) -> int:
    """1 when trying again may help any of them."""
    return min((error.exit_code if isinstance(error, LakehouseError) else 1) for error in failed.values())


def _result(context: JobContext[SplitOptions], chosen: tuple[TableSpec, ...], merged: MergeOutcome) -> JobResult:
    spec = context.spec
    window = merged.window
    outcomes = tuple(merged.outcomes[name] for name in targets_of(chosen))
    return context.result(
        DONE if any(outcome.is_committed for outcome in merged.outcomes.values()) else NOTHING_TO_DO,
        tables=outcomes,
        source=SourceWindow(table=spec.log, after=window.after, up_to=window.up_to) if window else None,
        counters={"events_read": merged.events, TO_CHECK: count_to_check(context, outcomes)},
        messages=(
            *(f"resync: {reason}" for reason in dict.fromkeys(merged.resyncs)),
            *dict.fromkeys(merged.messages),
            *unresolved_lines(spec),
        ),
    )


def _chosen(context: JobContext[SplitOptions]) -> tuple[TableSpec, ...]:
    """The tables that the patterns fit: of a table with from its names at the source, or its name in the lake."""
    spec = context.spec
    databases, names = names_of(context.options.databases), names_of(context.options.tables)
    if not databases and not names:
        return spec.tables
    chosen = tuple(table for table in spec.tables if _fits(table, databases, names))
    if not chosen:
        known = show_all(sorted(table.origin or table.name for table in spec.tables))
        raise ContractError(f"no table fits --databases and --tables; the lake has {known}")
    return chosen


def _fits(table: TableSpec, databases: tuple[str, ...], names: tuple[str, ...]) -> bool:
    places = [parts_of(origin) for origin in table.origins]
    if databases and not any(matches(each, databases) for schema, _ in places for each in (schema, schema_in(schema))):
        return False
    return matches(table.name, names) or any(matches(name, names) for _, name in places)


JOB = Job(options=SplitOptions, run=run, check=check)
