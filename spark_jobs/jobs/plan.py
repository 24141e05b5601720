"""plan: what the files of the lake define otherwise than its rows were made, written to a file for apply."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from spark_jobs.context import Job, JobContext, never
from spark_jobs.contracts.arguments import names_of
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import one_of, show
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.plan import PlanOptions
from spark_jobs.lake_spec.lake_plan import HEADER, Action, DefinitionChange
from spark_jobs.pipelines.planning import make_plan
from spark_jobs.storage.plan_files import keep_plan, write_plan


def run(context: JobContext[PlanOptions]) -> JobResult:
    """Print what changed, what ``apply`` would do, and what depends on it; write the plan. Nothing is changed.

    With ``--keep`` there is a plan also where nothing changed, so whoever applies it need not check first.
    """
    settings = context.settings
    spec, is_kept = context.spec, context.options.keep
    output = context.options.output
    chosen = _chosen(context)
    plan = make_plan(spec, settings, context.clock)
    if chosen:
        plan = plan.of_chosen(chosen, {mart.name: spec.declared_sources_of(mart) for mart in spec.marts})
    messages = [change.describe() for change in plan.changes]
    messages += _also(plan.applied, chosen)
    if plan.changes:
        print(format_table(HEADER, [change.cells() for change in plan.changes]))
        messages.append(f"{plan.id} is {'kept in the lake' if is_kept else f'in {output}'}")
    else:
        print(f"every {'chosen ' if chosen else ''}mart and table is as the files define it")
    if is_kept:
        keep_plan(plan, settings)
    elif plan.changes:
        write_plan(plan, output)
    if plan.applied:
        place = plan.id if is_kept else output
        messages.append(f"next: preview --plan {place}, then: apply --plan {place}")
    return context.result(
        DONE if plan.changes else NOTHING_TO_DO,
        counters={
            "changes": len(plan.changes),
            "to_apply": len(plan.applied),
            "to_recompute": len(plan.recomputed),
            "to_rebuild": len(plan.rebuilt),
            "impossible": sum(change.action is Action.IMPOSSIBLE for change in plan.changes),
        },
        messages=tuple(messages),
        findings={"plan": plan.id, "changes": [change.facts() for change in plan.changes]},
    )


def _chosen(context: JobContext[PlanOptions]) -> tuple[str, ...]:
    spec = context.spec
    known = {"mart": spec.mart_names, "table": {table.name for table in spec.tables}}
    options = context.options
    chosen = {"mart": names_of(options.marts or ""), "table": names_of(options.tables or "")}
    for kind, names in chosen.items():
        for name in names:
            if name not in known[kind]:
                raise ContractError(f"there is no {kind} {show(name)}; {one_of(name, sorted(known[kind]))}")
    return (*chosen["mart"], *chosen["table"])


def _also(planned: Iterable[DefinitionChange], chosen: Collection[str]) -> list[str]:
    others = [change.table for change in planned if chosen and change.table not in chosen]
    return [f"{name}: was not chosen; a chosen mart reads it, so it is computed first" for name in others]


JOB = Job(options=PlanOptions, run=run, needs_spark=never)
