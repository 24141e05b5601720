"""doctor: what is wrong with the lake that nobody notices; ``check`` explains it, ``repair`` does what is safe."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator, Mapping

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.contracts.text_table import format_table
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
from spark_jobs.storage.doctor.findings import Ailment, Finding
from spark_jobs.storage.doctor.repair import remove, repair_table
from spark_jobs.storage.erasures import Erasures
from spark_jobs.storage.lake_specs import read_lake_spec
from spark_jobs.storage.layouts import TableLayout, choose_layouts
from spark_jobs.storage.services.run import TableServices
from spark_jobs.storage.services.state import TableState
from spark_jobs.storage.timeline import Timeline

_HEAD = ("table", "finding", "what", "then")

log = logging.getLogger(__name__)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument(
        "action",
        choices=["check", "repair"],
        help="check: find problems and explain them; repair: those that can be repaired safely",
    )
    parser.add_argument("--table", help="one table alone")
    parser.add_argument("--deep", action="store_true", help="also count keys and look at what was cleaned, with Spark")


def needs_spark(arguments: JobArguments, settings: Settings) -> bool:
    """A look at the timelines and listings needs none."""
    return bool(arguments.options["action"] == "repair" or arguments.options.get("deep"))


def check(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> None:
    """Raise ContractError when ``--table`` names none."""
    choose_layouts(spec, arguments.options.get("table"))


def run(spark: SparkSession | None, arguments: JobArguments, settings: Settings) -> JobResult:
    """Look every table through, print what is wrong and what to do; with ``repair`` do what is safe, and look again."""
    spec = read_lake_spec(settings)
    layouts = choose_layouts(spec, arguments.options.get("table"))
    findings = list(findings_of(spark, spec, layouts, arguments, settings))
    repaired = 0
    if arguments.options["action"] == "repair" and spark is not None:
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
    # What is of the whole lake first: a restore of it that nobody can end any more would keep tables waiting.
    for name in sorted(dict.fromkeys(finding.table for finding in findings if finding.is_repairable), key=bool):
        of_table = [finding for finding in findings if finding.table == name]
        kinds = {finding.ailment for finding in of_table}
        if name and Ailment.PENDING_RESTORE in kinds and Ailment.TIMES not in kinds:
            log.info("%s: left as it is until its restore has ended", name)
            continue
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
