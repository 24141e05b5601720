"""recompute: the history of a layer computed again, under other rules perhaps; a plan first, and a way back."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import Interval, JobArguments, format_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import plain, show, show_all
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from spark_jobs.lake_spec.marts import MartSpec, TimeUnit
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.marts.engine import Engine
from spark_jobs.marts.plan import HEADER, RewritePlan
from spark_jobs.marts.rewrite import rewrite
from spark_jobs.marts.undo import undo
from spark_jobs.spec_files.rules_file import load_rules
from spark_jobs.storage.lake_specs import read_lake_spec
from spark_jobs.storage.savepoints import Record, SavepointRecords, record_id
from spark_jobs.storage.unfinished import check_nothing_unfinished


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument("--layer", help="the layer whose marts are computed again")
    parser.add_argument("--mart", help="one mart of the layer alone")
    parser.add_argument("--rules", help="the rule version to count by, such as v2; default: each month's own")
    parser.add_argument("--from", dest="from_date", metavar="DATE", help="first date, such as 2025-01-01")
    parser.add_argument("--to", dest="to_date", metavar="DATE", help="last date, included")
    parser.add_argument("--dry-run", action="store_true", help="show the plan and change nothing, also with --yes")
    parser.add_argument("--yes", action="store_true", help="carry out the plan; by default it is only shown")
    parser.add_argument("--undo", metavar="ID", help="restore what a recompute replaced (with --yes)")


def check(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> None:
    """Raise ContractError when the options name no marts, no days, no rules or nothing that can be undone."""
    options = arguments.options
    if options.get("undo"):
        SavepointRecords(settings).read(options["undo"], made_by=arguments.job)
        return
    marts = _chosen(spec, arguments)
    _check_whole_months(marts, _interval(arguments, spec))
    if options.get("rules"):
        load_rules(settings.rules_path).version(options["rules"])
        if not any(mart.rules for mart in marts):
            raise ContractError(f"no mart of layer {options['layer']} counts by rules; leave --rules out")


def run(spark: SparkSession, arguments: JobArguments, settings: Settings) -> JobResult:
    """Show what computing these dates again would change, and do it when ``--yes`` says so.

    Each table changes in one commit: readers see it as it was or as it is, and a run that was killed is run again. A
    savepoint is made first; the result says how to go back to it.
    """
    spec, options = read_lake_spec(settings), arguments.options
    check(spec, arguments, settings)
    if _is_meant(arguments):
        check_nothing_unfinished(settings, spec.mart_names)
    engine = Engine(spark=spark, spec=spec, settings=settings, arguments=arguments)
    if options.get("undo"):
        return _undo(engine, options["undo"], is_meant=_is_meant(arguments))
    marts, interval = _chosen(spec, arguments), _interval(arguments, spec)
    id_ = record_id(f"{options['layer']}-{options['from_date']}", arguments.clock)
    record = Record(
        id=id_,
        made_by=arguments.job,
        made_at=format_clock(arguments.clock),
        what=" ".join(
            filter(None, (options["layer"], options["from_date"], "to", options["to_date"], options.get("rules")))
        ),
        tables=_kept_before(id_, settings),
    )
    plans, outcomes, done = rewrite(engine, marts, interval, record if _is_meant(arguments) else None)
    return _result(engine, plans, outcomes, way_back=done.id if done and done.tables else "")


def _kept_before(id_: str, settings: Settings) -> Mapping[str, str]:
    """States that an earlier try of this very run kept, before it was killed: the way back leads to them."""
    record = SavepointRecords(settings).find(id_)
    return record.tables if record else {}


def _is_meant(arguments: JobArguments) -> bool:
    return bool(arguments.options.get("yes")) and not arguments.options.get("dry_run")


def _chosen(spec: LakeSpec, arguments: JobArguments) -> list[MartSpec]:
    layer, name = arguments.options.get("layer"), arguments.options.get("mart")
    if not layer or not arguments.options.get("from_date") or not arguments.options.get("to_date"):
        raise ContractError("recompute needs --layer, --from and --to (or --undo ID)")
    of_layer = [mart for mart in spec.marts if mart.layer == layer]
    # One that reads tables which no pattern has found was never computed; named, it says so itself.
    marts = [mart for mart in of_layer if (mart.name == name if name else not spec.missing_reads(mart))]
    if not marts:
        known = sorted({(mart.layer, mart.name) for mart in spec.marts})
        raise ContractError(f"no mart {plain(name or '')} is of layer {show(layer)}; marts by layer: {known}")
    return marts


def _interval(arguments: JobArguments, spec: LakeSpec) -> Interval:
    given = show_all(arguments.options[name] for name in ("from_date", "to_date"))
    try:
        first, last = (date.fromisoformat(arguments.options[name]) for name in ("from_date", "to_date"))
    except ValueError as error:
        raise ContractError(f"--from and --to are dates such as 2025-01-31, not {given}") from error
    if last < first:
        raise ContractError(f"--to {last} is before --from {first}")
    utc = ZoneInfo("UTC")
    return Interval(
        start=datetime.combine(first, time(), utc), end=datetime.combine(last + timedelta(days=1), time(), utc)
    )


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


def _undo(engine: Engine, id_: str, *, is_meant: bool) -> JobResult:
    record = SavepointRecords(engine.settings).read(id_, made_by=engine.arguments.job)
    if not is_meant:
        rows = [(table, instant) for table, instant in record.tables.items()]
        print(f"would undo: {record.what} (made {record.made_at})\n{format_table(('table', 'back to'), rows)}")
        return _done(engine, [], ("nothing was changed; do it with --yes",))
    return _done(engine, undo(engine, record), (f"undone: {record.what}",))


def _result(engine: Engine, plans: list[RewritePlan], outcomes: list[TableOutcome], *, way_back: str) -> JobResult:
    print(format_table(HEADER, [plan.cells() for plan in plans]))
    said = [f"{plan.mart}: {plan.describe()}" for plan in plans]
    if way_back:
        said.append(f"to undo: recompute --undo {way_back} --yes")
    elif not _is_meant(engine.arguments) and any(plan.rows for plan in plans):
        said.append("nothing was changed; do it with --yes")
    return _done(engine, outcomes, tuple(said), rows_planned=sum(plan.rows for plan in plans))


def _done(engine: Engine, outcomes: list[TableOutcome], messages: tuple[str, ...], rows_planned: int = 0) -> JobResult:
    return JobResult(
        job=engine.arguments.job,
        status=DONE if any(outcome.is_committed for outcome in outcomes) else NOTHING_TO_DO,
        clock=format_clock(engine.arguments.clock),
        tables=tuple(outcomes),
        counters={"rows_planned": rows_planned, "rows_written": sum(outcome.rows for outcome in outcomes)},
        messages=(*engine.messages, *messages),
    )
