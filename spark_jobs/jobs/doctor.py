"""doctor: problems of the lake that go unnoticed; ``check`` explains them, ``repair`` does what is safe.

``repair`` is a plan first: what it would do is shown, and done with ``--yes``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.doctor import DoctorOptions
from spark_jobs.overview.cache import LakeCache
from spark_jobs.overview.findings import all_findings
from spark_jobs.overview.lake import read_lake
from spark_jobs.storage.doctor.ahead import way_back
from spark_jobs.storage.doctor.deep import check_deep
from spark_jobs.storage.doctor.findings import Ailment, Finding, plan_repair
from spark_jobs.storage.doctor.repair import remove, repair_table
from spark_jobs.storage.layouts import TableLayout, choose_layouts
from spark_jobs.storage.services.run import TableServices

_HEAD = ("table", "finding", "what", "then")
_PLAN = ("table", "finding", "what", "what repair does")

log = logging.getLogger(__name__)


def needs_spark(context: JobContext[DoctorOptions]) -> bool:
    """A look at the timelines and listings needs none, nor does a plan."""
    return context.options.yes or context.options.deep


def check(context: JobContext[DoctorOptions]) -> None:
    """Raise ContractError when ``--table`` names none."""
    choose_layouts(context.spec, context.options.table)


def run(context: JobContext[DoctorOptions]) -> JobResult:
    """Look every table through, print what is wrong and what to do.

    With ``repair`` print what it would do about each, and with ``--yes`` do what is safe, and look again.
    """
    layouts = choose_layouts(context.spec, context.options.table)
    findings = list(findings_of(context, layouts))
    repaired, is_repair = 0, context.options.action == "repair"
    if is_repair and not context.options.yes:
        return _planned(context, findings, layouts)
    if is_repair:
        _repair(context, layouts, findings)
        left = list(findings_of(context, layouts))
        repaired = len({(f.table, f.ailment) for f in findings} - {(f.table, f.ailment) for f in left})
        findings = left
    rows = [(finding.table or "-", finding.ailment.value, finding.what, _then(finding)) for finding in findings]
    print(format_table(_HEAD, rows) if rows else f"nothing is wrong with {len(layouts)} tables")
    return context.result(
        DONE if findings or repaired else NOTHING_TO_DO,
        counters={"findings": len(findings), "repaired": repaired},
        messages=tuple(f"{finding.table or 'lake'}: {finding.ailment.value}: {finding.what}" for finding in findings),
    )


def _planned(
    context: JobContext[DoctorOptions], findings: Sequence[Finding], layouts: Mapping[str, TableLayout]
) -> JobResult:
    """What a repair would do, and what stays for a person."""
    plan = plan_repair(findings)
    rows = [
        (
            each.table or "-",
            each.ailment.value,
            each.what,
            (each.table in plan and each.repair) or f"nothing: {_then(each)}",
        )
        for each in findings
    ]
    print(format_table(_PLAN, rows) if rows else f"nothing is wrong with {len(layouts)} tables")
    planned = [each for of_table in plan.values() for each in of_table if each.is_repairable]
    repairs = [f"{each.table or 'lake'}: {each.ailment.value}: repair {each.repair}" for each in planned]
    return context.result(
        NOTHING_TO_DO,
        counters={"findings": len(findings), "repaired": 0, "planned": len(planned)},
        messages=(*repairs, "nothing was changed; do it with --yes")
        if planned
        else ("nothing can be repaired by itself",),
    )


def findings_of(
    context: JobContext[DoctorOptions],
    layouts: Mapping[str, TableLayout],
) -> Iterator[Finding]:
    """What is wrong with these tables and with the lake; with a session and ``deep`` also what only rows show."""
    reading = read_lake(context.spec, context.settings, context.clock, cache=LakeCache(), keeps_listings=True)
    if context.options.deep:
        return all_findings(reading, layouts, deep=lambda state: check_deep(context.spark, state, context.clock))
    return all_findings(reading, layouts)


def _then(finding: Finding) -> str:
    return f"{finding.then} (docs/runbooks/{finding.runbook}.md)"


def _repair(
    context: JobContext[DoctorOptions],
    layouts: Mapping[str, TableLayout],
    findings: list[Finding],
) -> None:
    spark, spec, settings = context.spark, context.spec, context.settings
    for name, of_table in plan_repair(findings).items():
        if not name:
            for finding in of_table:
                remove(settings.base_path, finding.paths)
            continue
        log.info("%s: %d findings", name, len(of_table))
        services = TableServices(
            spark=spark,
            layout=layouts[name],
            targets=spec.targets(name),
            settings=settings,
            clock=context.clock,
        )
        repair_table(services, [f for f in of_table if f.ailment is Ailment.UNCLEANED], way_back(spec, name))


JOB = Job(options=DoctorOptions, run=run, check=check, needs_spark=needs_spark)
