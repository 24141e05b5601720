"""plan: what the files of the lake define otherwise than its rows were computed, written to a file for apply."""

from __future__ import annotations

import argparse

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.lake_plan import HEADER, Action
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from spark_jobs.pipelines.planning import make_plan
from spark_jobs.storage.lake_specs import read_lake_spec
from spark_jobs.storage.plan_files import write_plan


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument("--output", default="plan.yaml", metavar="FILE", help="the plan file (default: plan.yaml)")


def needs_spark(arguments: JobArguments, settings: Settings) -> bool:
    """It is made from timelines."""
    return False


def run(spark: None, arguments: JobArguments, settings: Settings) -> JobResult:
    """Print what changed, what ``apply`` would do, and what depends on it; write the plan file. Nothing is changed."""
    spec, output = read_lake_spec(settings), arguments.options.get("output") or "plan.yaml"
    plan = make_plan(spec, settings, arguments.clock)
    messages = [change.describe() for change in plan.changes]
    if plan.changes:
        print(format_table(HEADER, [change.cells() for change in plan.changes]))
        write_plan(plan, output)
        messages.append(f"{plan.id} is in {output}")
    else:
        print("every mart and table is what the files say")
    if plan.applied:
        messages.append(f"next: preview --plan {output}, then: apply --plan {output}")
    return JobResult(
        job=arguments.job,
        status=DONE if plan.changes else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        counters={
            "changes": len(plan.changes),
            "to_recompute": len(plan.recomputed),
            "to_rebuild": len(plan.rebuilt),
            "impossible": sum(change.action is Action.IMPOSSIBLE for change in plan.changes),
        },
        messages=tuple(messages),
    )
