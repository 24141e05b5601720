"""preview: tables and marts of a plan made by the definition of the files, beside their rows; nothing is changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.errors import AnalysisException

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.previews import PREVIEW_HEADER
from spark_jobs.contracts.results import NOTHING_TO_DO, JobResult
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.preview import PreviewOptions
from spark_jobs.lake_spec.lake_plan import LakePlan
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.marts.engine import Engine
from spark_jobs.marts.preview import Preview, preview
from spark_jobs.pipelines.planning import make_plan
from spark_jobs.pipelines.rebuild.preview import preview_table
from spark_jobs.storage.plan_files import read_plan


def needs_spark(context: JobContext[PreviewOptions]) -> bool:
    """Not for a plan that computes nothing."""
    return bool(read_plan(context.options.plan, context.settings).applied)


def check(context: JobContext[PreviewOptions]) -> None:
    """Raise ContractError when the file is no plan, or has no such mart or table."""
    plan = read_plan(context.options.plan, context.settings)
    _chosen(context, plan)
    _chosen_tables(context, plan)


def run(context: JobContext[PreviewOptions]) -> JobResult:
    """Show row counts, sums and changed columns of each table and mart, now and by its new definition.

    Raises:
        StalePlanError: the lake or its files are not those that the plan was made from.
    """
    spec, settings = context.spec, context.settings
    plan = read_plan(context.options.plan, settings)
    plan.check(make_plan(spec, settings, context.clock), {})
    chosen, tables = _chosen(context, plan), _chosen_tables(context, plan)
    planned, samples = {change.table for change in plan.applied}, context.options.samples
    engine = Engine(context=context, applies=frozenset(spec.mart_names))
    findings: dict[str, Any] = {}
    messages: list[str] = []
    for table in tables:
        found, line = preview_table(context, table, samples=samples)
        _show(table, found)
        findings[table] = found.facts()
        messages += [f"{table}: {found.rewrite.describe()}", *([line] if line else [])]
    for mart in chosen:
        over = sorted(planned & {*spec.declared_sources_of(mart)})
        try:
            found = preview(engine, mart, samples=samples)
        except AnalysisException as error:
            if not over:
                raise
            messages.append(f"{mart.name}: can be previewed when {', '.join(over)} is applied ({_first_line(error)})")
            continue
        _show(mart.name, found)
        findings[mart.name] = found.facts()
        messages.append(f"{mart.name}: {found.rewrite.describe()}")
        if over:
            messages.append(f"{mart.name}: was computed from {', '.join(over)} as stored now, which change too")
    return _result(context, findings, (*messages, *engine.messages), tables=tables)


def _result(
    context: JobContext[PreviewOptions], findings: dict[str, Any], messages: tuple[str, ...], *, tables: Sequence[str]
) -> JobResult:
    return context.result(
        NOTHING_TO_DO,
        counters={
            "marts": len(findings) - len(tables),
            "tables": len(tables),
            "rows_planned": sum(each["new"] + each["changed"] + each["gone"] for each in findings.values()),
        },
        messages=(*messages, "nothing was changed"),
        findings=findings,
    )


def _chosen(context: JobContext[PreviewOptions], plan: LakePlan) -> list[MartSpec]:
    spec = context.spec
    name, planned = context.options.mart, {change.table for change in plan.recomputed}
    if name and name not in planned:
        raise ContractError(f"{plan.id} computes no mart {show(name)} again; it computes {sorted(planned)}")
    is_other = not name and context.options.table
    return [mart for mart in spec.marts if mart.name in planned and name in (None, "", mart.name) and not is_other]


def _chosen_tables(context: JobContext[PreviewOptions], plan: LakePlan) -> list[str]:
    name, planned = context.options.table, [change.table for change in plan.rebuilt]
    if name and name not in planned:
        raise ContractError(f"{plan.id} rebuilds no table {show(name)}; it rebuilds {planned}")
    is_other = not name and context.options.mart
    return [table for table in planned if name in (None, "", table) and not is_other]


def _show(name: str, found: Preview) -> None:
    rewrite = found.rewrite
    print(f"{name}: {found.rows_now:,} rows now, {found.rows_then:,} then")
    print(f"  {rewrite.new:,} new, {rewrite.changed:,} changed, {rewrite.gone:,} gone")
    print(format_table(PREVIEW_HEADER, [column.cells() for column in found.columns]))
    for kind, keys in found.samples.items():
        if keys:
            print(f"  {kind}, the first {len(keys)}: {', '.join(keys)}")


def _first_line(error: AnalysisException) -> str:
    return str(error).splitlines()[0][:200]


JOB = Job(options=PreviewOptions, run=run, check=check, needs_spark=needs_spark)
