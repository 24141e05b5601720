"""recompute: the history of a layer computed again, under other rules perhaps; a plan first, and a way back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.arguments import Interval, format_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.names import plain, show, show_all
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.recompute import RecomputeOptions
from spark_jobs.lake_spec.marts import MartSpec, TimeUnit
from spark_jobs.marts.engine import Engine
from spark_jobs.marts.plan import HEADER, RewritePlan
from spark_jobs.marts.refresh import RefreshRequest
from spark_jobs.marts.rewrite import rewrite
from spark_jobs.marts.undo import undo
from spark_jobs.spec_files.rules_file import load_rules
from spark_jobs.storage.savepoints import Record, SavepointRecords, record_id
from spark_jobs.storage.unfinished import check_nothing_unfinished


def check(context: JobContext[RecomputeOptions]) -> None:
    """Raise ContractError when the options name no marts, no days, no rules or nothing that can be undone."""
    settings = context.settings
    options = context.options
    if options.undo:
        SavepointRecords(settings).read(options.undo, made_by=context.job)
        return
    marts = _chosen(context)
    _check_whole_months(marts, _interval(context))
    if options.rules:
        load_rules(settings.rules_path).version(options.rules)
        if not any(mart.rules for mart in marts):
            raise ContractError(f"no mart of layer {options.layer} counts by rules; leave --rules out")


def run(context: JobContext[RecomputeOptions]) -> JobResult:
    """Show what computing these dates again would change, and do it when ``--yes`` says so.

    Each table changes in one commit: readers see it as it was or as it is, and a run that was killed is run again. A
    savepoint is made first; the result says how to go back to it.
    """
    settings = context.settings
    spec, options = context.spec, context.options
    if _is_meant(context):
        check_nothing_unfinished(settings, spec.mart_names)
    if options.undo:
        return _undo(context, Engine(context=context), options.undo)
    marts, interval = _chosen(context), _interval(context)
    engine = Engine(context=context, request=_request(context))
    id_ = record_id(f"{options.layer}-{options.from_date}", context.clock)
    record = Record(
        id=id_,
        made_by=context.job,
        made_at=format_clock(context.clock),
        what=" ".join(filter(None, (options.layer, options.from_date, "to", options.to_date, options.rules))),
        tables=_kept_before(id_, settings),
    )
    plans, outcomes, done = rewrite(engine, marts, interval, record if _is_meant(context) else None)
    return _result(context, engine, plans, outcomes, way_back=done.id if done and done.tables else "")


def _kept_before(id_: str, settings: Settings) -> Mapping[str, Instant]:
    """States that an earlier try of this very run kept, before it was killed: the way back leads to them."""
    record = SavepointRecords(settings).find(id_)
    return record.tables if record else {}


def _is_meant(context: JobContext[RecomputeOptions]) -> bool:
    return context.options.yes and not context.options.dry_run


def _chosen(context: JobContext[RecomputeOptions]) -> list[MartSpec]:
    spec = context.spec
    layer, name = context.options.layer, context.options.mart
    if not layer or not context.options.from_date or not context.options.to_date:
        raise ContractError("recompute needs --layer, --from and --to (or --undo ID)")
    of_layer = [mart for mart in spec.marts if mart.layer == layer]
    # One that reads tables which no pattern has found was never computed; named, it says so itself.
    marts = [mart for mart in of_layer if (mart.name == name if name else not spec.missing_reads(mart))]
    if not marts:
        known = sorted({(mart.layer, mart.name) for mart in spec.marts})
        raise ContractError(f"no mart {plain(name or '')} is of layer {show(layer)}; marts by layer: {known}")
    return marts


def _interval(context: JobContext[RecomputeOptions]) -> Interval:
    given = (context.options.from_date or "", context.options.to_date or "")
    try:
        first, last = map(date.fromisoformat, given)
    except ValueError as error:
        raise ContractError(f"--from and --to are dates such as 2025-01-31, not {show_all(given)}") from error
    if last < first:
        raise ContractError(f"--to {last} is before --from {first}")
    utc = ZoneInfo("UTC")
    return Interval(
        start=datetime.combine(first, time(), utc), end=datetime.combine(last + timedelta(days=1), time(), utc)
    )


def _request(context: JobContext[RecomputeOptions]) -> RefreshRequest:
    interval = _interval(context)
    last = interval.end - timedelta(days=1)
    months = (f"{interval.start:%Y-%m}", f"{last:%Y-%m}")
    return RefreshRequest(rules=context.options.rules or "", months=months)


def _check_whole_months(marts: Iterable[MartSpec], interval: Interval) -> None:
    """Raise ContractError when dates cut a month of a mart that has a row a month: it would be computed whole."""
    first, last = interval.start.date(), interval.end.date() - timedelta(days=1)
    if first.day == interval.end.day == 1:
        return
    for mart in marts:
        if mart.time and mart.time.unit is TimeUnit.MONTH:
            next_month = (last.replace(day=1) + timedelta(days=31)).replace(day=1)
            raise ContractError(
                f"mart {mart.name} is computed by whole months; give --from {first.replace(day=1)} --to "
                f"{next_month - timedelta(days=1)}, or --mart for one that is by day"
            )


def _undo(context: JobContext[RecomputeOptions], engine: Engine, id_: str) -> JobResult:
    record = SavepointRecords(context.settings).read(id_, made_by=context.job)
    if not _is_meant(context):
        rows = [(table, instant) for table, instant in record.tables.items()]
        print(f"would undo: {record.what} (made {record.made_at})\n{format_table(('table', 'back to'), rows)}")
        return _done(context, engine, [], ("nothing was changed; do it with --yes",))
    return _done(context, engine, undo(engine, record), (f"undone: {record.what}",))


def _result(
    context: JobContext[RecomputeOptions],
    engine: Engine,
    plans: list[RewritePlan],
    outcomes: list[TableOutcome],
    *,
    way_back: str,
) -> JobResult:
    print(format_table(HEADER, [plan.cells() for plan in plans]))
    messages = [f"{plan.mart}: {plan.describe()}" for plan in plans]
    if way_back:
        messages.append(f"to undo: recompute --undo {way_back} --yes")
    elif not _is_meant(context) and any(plan.rows for plan in plans):
        messages.append("nothing was changed; do it with --yes")
    return _done(context, engine, outcomes, tuple(messages), rows_planned=sum(plan.rows for plan in plans))


def _done(
    context: JobContext[RecomputeOptions],
    engine: Engine,
    outcomes: list[TableOutcome],
    messages: tuple[str, ...],
    rows_planned: int = 0,
) -> JobResult:
    return context.result(
        DONE if any(outcome.is_committed for outcome in outcomes) else NOTHING_TO_DO,
        tables=tuple(outcomes),
        counters={"rows_planned": rows_planned, "rows_written": sum(outcome.rows for outcome in outcomes)},
        messages=(*engine.messages, *messages),
    )


JOB = Job(options=RecomputeOptions, run=run, check=check)
