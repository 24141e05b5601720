"""doctor: what is wrong with the lake that nobody notices; ``check`` explains it, ``repair`` does what is safe.

``repair`` is a plan first: what it would do is shown, and done with ``--yes``.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.quality.holds import Hold, Holds
from spark_jobs.storage.consumers import ConsumerRegistry
from spark_jobs.storage.doctor.ahead import check_kept, way_back
from spark_jobs.storage.doctor.checks import (
    check_checkpoints,
    check_consumers,
    check_erasure,
    check_restores,
    check_table,
    check_temporary,
    check_undeclared_tables,
    check_version,
)
from spark_jobs.storage.doctor.deep import check_deep
from spark_jobs.storage.doctor.findings import Ailment, Finding, plan_repair
from spark_jobs.storage.doctor.repair import remove, repair_table
from spark_jobs.storage.erasures import Erasures
from spark_jobs.storage.lake_specs import read_lake_spec
from spark_jobs.storage.layouts import TableLayout, choose_layouts
from spark_jobs.storage.services.run import TableServices
from spark_jobs.storage.services.state import TableState
from spark_jobs.storage.timeline import Timeline

_HEAD = ("table", "finding", "what", "then")
_PLAN = ("table", "finding", "what", "what repair does")

log = logging.getLogger(__name__)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument(
        "action",
        choices=["check", "repair"],
        help="check: find problems and explain them; repair: those that can be repaired safely, a plan first",
    )
    parser.add_argument("--table", help="one table alone")
    parser.add_argument("--deep", action="store_true", help="also count keys and look at what was cleaned, with Spark")
    parser.add_argument("--yes", action="store_true", help="repair: carry out the plan; by default it is only shown")


def needs_spark(arguments: JobArguments, settings: Settings) -> bool:
    """A look at the timelines and listings needs none, nor does a plan."""
    is_repair = arguments.options["action"] == "repair" and arguments.options.get("yes")
    return bool(is_repair or arguments.options.get("deep"))


def check(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> None:
    """Raise ContractError when ``--table`` names none, or ``--yes`` has nothing to carry out."""
    if arguments.options["action"] == "check" and arguments.options.get("yes"):
        raise ContractError("doctor check changes nothing; leave --yes out, or give it to doctor repair")
    choose_layouts(spec, arguments.options.get("table"))


def run(spark: SparkSession | None, arguments: JobArguments, settings: Settings) -> JobResult:
    """Look every table through, print what is wrong and what to do.

    With ``repair`` print what it would do about each, and with ``--yes`` do what is safe, and look again.
    """
    spec = read_lake_spec(settings)
    check(spec, arguments, settings)
    layouts = choose_layouts(spec, arguments.options.get("table"))
    findings = list(findings_of(spark, spec, layouts, arguments, settings))
    repaired, is_repair = 0, arguments.options["action"] == "repair"
    if is_repair and not (spark is not None and arguments.options.get("yes")):
        return _planned(findings, layouts, arguments)
    if is_repair and spark is not None:
        _repair(spark, spec, layouts, findings, arguments, settings)
        left = list(findings_of(spark, spec, layouts, arguments, settings))
        repaired = len({(f.table, f.ailment) for f in findings} - {(f.table, f.ailment) for f in left})
        findings = left
    rows = [(finding.table or "-", finding.ailment.value, finding.what, finding.then) for finding in findings]
    print(format_table(_HEAD, rows) if rows else f"nothing is wrong with {len(layouts)} tables")
    return JobResult(
        job=arguments.job,
        status=DONE if findings or repaired else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        counters={"findings": len(findings), "repaired": repaired},
        messages=tuple(f"{finding.table or 'lake'}: {finding.ailment.value}: {finding.what}" for finding in findings),
    )


def _planned(findings: Sequence[Finding], layouts: Mapping[str, TableLayout], arguments: JobArguments) -> JobResult:
    """What a repair would do, and what stays for a person."""
    plan = plan_repair(findings)
    rows = [
        (
            each.table or "-",
            each.ailment.value,
            each.what,
            (each.table in plan and each.repair) or f"nothing: {each.then}",
        )
        for each in findings
    ]
    print(format_table(_PLAN, rows) if rows else f"nothing is wrong with {len(layouts)} tables")
    planned = [each for of_table in plan.values() for each in of_table if each.is_repairable]
    said = [f"{each.table or 'lake'}: {each.ailment.value}: repair {each.repair}" for each in planned]
    return JobResult(
        job=arguments.job,
        status=NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        counters={"findings": len(findings), "repaired": 0, "planned": len(planned)},
        messages=(*said, "nothing was changed; do it with --yes")
        if planned
        else ("nothing can be repaired by itself",),
    )


def findings_of(
    spark: SparkSession | None,
    spec: LakeSpec,
    layouts: Mapping[str, TableLayout],
    arguments: JobArguments,
    settings: Settings,
) -> Iterator[Finding]:
    """What is wrong with these tables and with the lake; with a session and ``deep`` also what only rows tell."""
    timelines = {name: Timeline(table=name, path=settings.table_path(name)) for name in spec.table_names}
    for name, layout in layouts.items():
        if wrong := list(check_version(timelines[name])):
            yield from wrong
            continue
        state = TableState.look(layout, settings.table_path(name))
        yield from check_table(state, spec.targets(name), arguments.clock)
        if spark is not None and arguments.options.get("deep"):
            yield from check_deep(spark, state, arguments.clock)
    consumers = ConsumerRegistry(settings.base_path).all()
    for finding in (*check_consumers(timelines, consumers), *check_checkpoints(timelines)):
        if finding.table in layouts:
            yield finding
    yield from (_held(hold) for hold in Holds(settings).held() if hold.table in layouts)
    yield from (finding for finding in check_kept(settings) if finding.table in layouts)
    yield from (each for each in check_restores(timelines, settings) if each.table in ("", *layouts))
    yield from check_erasure(Erasures(settings).pending())
    yield from check_undeclared_tables(spec, settings)
    yield from check_temporary(settings.base_path, arguments.clock)


def _held(hold: Hold) -> Finding:
    seen = "what is served stays" if hold.instant else "readers keep the state before"
    return Finding(
        table=hold.table,
        ailment=Ailment.HELD,
        what=f"held since {hold.since}, {seen}: {'; '.join(hold.told)}",
        then="publish list; docs/runbooks/held.md",
    )


def _repair(
    spark: SparkSession,
    spec: LakeSpec,
    layouts: Mapping[str, TableLayout],
    findings: list[Finding],
    arguments: JobArguments,
    settings: Settings,
) -> None:
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
            clock=arguments.clock,
        )
        repair_table(services, [f for f in of_table if f.ailment is Ailment.UNCLEANED], way_back(spec, name))
