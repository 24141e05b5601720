"""services: ``plan`` says which of the tables' services are due and why, ``run`` does them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.errors import TableVersionError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.services import ServicesOptions
from spark_jobs.lake_spec.services import Service
from spark_jobs.pipelines.merge.index_service import index_need, merge_indexes
from spark_jobs.storage.consumers import ConsumerRegistry
from spark_jobs.storage.layouts import TableLayout, choose_layouts
from spark_jobs.storage.services.due import find_needs
from spark_jobs.storage.services.kind import Need
from spark_jobs.storage.services.run import ServiceRun, TableServices
from spark_jobs.storage.services.state import TableState

_PLAN_HEAD = ("table", "service", "due", "why")
_RUN_HEAD = ("table", "service", "done", "what")

log = logging.getLogger(__name__)


def needs_spark(context: JobContext[ServicesOptions]) -> bool:
    """A plan is made from timelines and listings."""
    return context.options.action == "run"


def check(context: JobContext[ServicesOptions]) -> None:
    """Raise ContractError when ``--table`` names none."""
    choose_layouts(context.spec, context.options.table)


def run(context: JobContext[ServicesOptions]) -> JobResult:
    """Look every table through, and with ``run`` do what is due: table by table, services in their order.

    One table that fails stops no other; its error is raised when all have had their turn. ``plan`` needs no Spark.
    """
    spec, options = context.spec, context.options
    layouts = choose_layouts(spec, options.table)
    services = [options.service] if options.service else list(Service)
    needs, warnings = _needs(context, layouts, services)
    if options.action == "plan":
        shown = needs if options.all else [need for need in needs if need.is_due]
        rows = [(need.table, need.service.value, "yes" if need.is_due else "no", need.why) for need in shown]
        print(format_table(_PLAN_HEAD, rows) if rows else "nothing is due")
        return _result(context, needs, (), warnings)
    wanted = [need for need in needs if need.is_due or options.all]
    runs = list(_run(context, layouts, wanted))
    print(format_table(_RUN_HEAD, [(r.table, r.service.value, "yes" if r.is_done else "no", r.did) for r in runs]))
    return _result(context, needs, runs, warnings)


def _needs(
    context: JobContext[ServicesOptions],
    layouts: dict[str, TableLayout],
    services: list[Service],
) -> tuple[list[Need], list[str]]:
    spec, settings = context.spec, context.settings
    consumers = ConsumerRegistry(settings.base_path).all()
    needs: list[Need] = []
    warnings: list[str] = []
    for name, layout in layouts.items():
        try:
            state = TableState.look(layout, settings.table_path(name))
        except TableVersionError as error:  # of this table alone: the others get their services
            warnings.append(str(error))
            continue
        found = find_needs(state, consumers, spec.targets(name), context.clock)
        needs += [need for need in found.needs if need.service in services]
        warnings += found.warnings
    if spec.log in layouts and Service.INDEX in services:
        needs += filter(None, [index_need(spec, settings)])
    return needs, warnings


def _run(
    context: JobContext[ServicesOptions],
    layouts: dict[str, TableLayout],
    wanted: list[Need],
) -> Iterator[ServiceRun]:
    spark, spec, settings = context.spark, context.spec, context.settings

    def serve(table: str) -> list[ServiceRun]:
        services = TableServices(
            spark=spark, layout=layouts[table], targets=spec.targets(table), settings=settings, clock=context.clock
        )
        is_forced = context.options.all
        of_table = [need.service for need in wanted if need.table == table]
        done = [services.run(service, is_forced=is_forced) for service in of_table if service is not Service.INDEX]
        return [*done, merge_indexes(context, is_forced=is_forced)] if Service.INDEX in of_table else done

    tables = list(dict.fromkeys(need.table for need in wanted))
    with ThreadPoolExecutor(settings.write_threads) as threads:
        running = {table: threads.submit(serve, table) for table in tables}
        for at, (table, done) in enumerate(running.items(), start=1):
            if error := done.exception():
                log.warning("%s: its services failed: %s", table, error)
            else:
                log.info("%d of %d tables: %s", at, len(tables), table)
                yield from done.result()
    if errors := [error for done in running.values() if (error := done.exception())]:
        raise errors[0]


def _result(
    context: JobContext[ServicesOptions],
    needs: list[Need],
    runs: tuple[ServiceRun, ...] | list[ServiceRun],
    warnings: list[str],
) -> JobResult:
    done = [run for run in runs if run.is_done]
    due = [need for need in needs if need.is_due]
    return context.result(
        DONE if done or (due and not runs) else NOTHING_TO_DO,
        counters={"services_due": len(due), "services_done": len(done)},
        messages=(*warnings, *(f"{run.table}: {run.service.value}: {run.did}" for run in runs)),
        due=tuple((need.table, need.service.value) for need in due),
    )


JOB = Job(options=ServicesOptions, run=run, check=check, needs_spark=needs_spark)
