"""preview: the marts of a plan computed by the definition of the files, beside their rows; nothing is changed."""

from __future__ import annotations

import argparse
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.lake_plan import LakePlan
from spark_jobs.contracts.marts import MartSpec
from spark_jobs.contracts.names import show
from spark_jobs.contracts.previews import PREVIEW_HEADER
from spark_jobs.contracts.results import NOTHING_TO_DO, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.contracts.text_table import format_table
from spark_jobs.marts.bring_on import Engine
from spark_jobs.marts.preview import Preview, preview
from spark_jobs.pipelines.planning import make_plan
from spark_jobs.storage.lake_specs import read_lake_spec
from spark_jobs.storage.plan_files import PLAN_HELP, read_plan


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument("--plan", required=True, metavar="FILE", help=PLAN_HELP)
    parser.add_argument("--mart", help="one mart of the plan alone")
    parser.add_argument(
        "--samples", type=int, default=10, metavar="N", help="keys to show of each kind (default 10; 0: none)"
    )


def needs_spark(arguments: JobArguments, settings: Settings) -> bool:
    """Not for a plan that computes nothing."""
    return bool(read_plan(arguments.options["plan"], settings).recomputed)


def check(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> None:
    """Raise ContractError when the file is no plan, or has no such mart."""
    _chosen(spec, read_plan(arguments.options["plan"], settings), arguments)


def run(spark: SparkSession | None, arguments: JobArguments, settings: Settings) -> JobResult:
    """Show row counts, sums and changed columns of each mart, now and by its new definition.

    Raises:
        StalePlanError: the lake or its files are not those that the plan was made from.
    """
    spec, plan = read_lake_spec(settings), read_plan(arguments.options["plan"], settings)
    plan.check(make_plan(spec, settings, arguments.clock), {})
    chosen = _chosen(spec, plan, arguments)
    if spark is None:
        return _result(arguments, {}, ())
    planned = {change.table for change in plan.recomputed}
    samples = arguments.options.get("samples")
    engine = Engine(spark=spark, spec=spec, settings=settings, arguments=arguments, applies=frozenset(spec.mart_names))
    findings: dict[str, Any] = {}
    messages: list[str] = []
    for mart in chosen:
        over = sorted(planned & {read.table for read in mart.reads})
        try:
            found = preview(engine, mart, samples=10 if samples is None else max(samples, 0))
        except AnalysisException as error:
            if not over:
                raise
            messages.append(f"{mart.name}: can be previewed when {', '.join(over)} is applied ({_first_line(error)})")
            continue
        _show(mart, found)
        findings[mart.name] = found.facts()
        messages.append(f"{mart.name}: {found.rewrite.describe()}")
        if over:
            messages.append(f"{mart.name}: was computed from {', '.join(over)} as stored now, which change too")
    return _result(arguments, findings, (*messages, *engine.messages))


def _result(arguments: JobArguments, findings: dict[str, Any], messages: tuple[str, ...]) -> JobResult:
    return JobResult(
        job=arguments.job,
        status=NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        counters={
            "marts": len(findings),
            "rows_planned": sum(each["new"] + each["changed"] + each["gone"] for each in findings.values()),
        },
        messages=(*messages, "nothing was changed"),
        findings=findings,
    )


def _chosen(spec: LakeSpec, plan: LakePlan, arguments: JobArguments) -> list[MartSpec]:
    name, planned = arguments.options.get("mart"), {change.table for change in plan.recomputed}
    if name and name not in planned:
        raise ContractError(f"{plan.id} computes no mart {show(name)} again; it computes {sorted(planned)}")
    return [mart for mart in spec.marts if mart.name in planned and name in (None, "", mart.name)]


def _show(mart: MartSpec, found: Preview) -> None:
    rewrite = found.rewrite
    print(f"{mart.name}: {found.rows_now:,} rows now, {found.rows_then:,} then")
    print(f"  {rewrite.new:,} new, {rewrite.changed:,} changed, {rewrite.gone:,} gone")
    print(format_table(PREVIEW_HEADER, [column.cells() for column in found.columns]))
    for kind, keys in found.samples.items():
        if keys:
            print(f"  {kind}, the first {len(keys)}: {', '.join(keys)}")


def _first_line(error: AnalysisException) -> str:
    return str(error).splitlines()[0][:200]
