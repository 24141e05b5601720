"""validate: whole tables asked what is expected of their rows, by Great Expectations, after their commits.

The gate asks the rows of each write before they are committed; this asks what is there, and what needs all rows of a
table: that keys are unique, that references lead somewhere.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.errors import AuditFailedError, ContractError
from spark_jobs.contracts.expectation_sql import expectations_of
from spark_jobs.contracts.expectations import ROW_KINDS, WHOLE_KINDS
from spark_jobs.contracts.names import show
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.spec_file import load_lake_spec
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.contracts.text_table import format_table
from spark_jobs.quality.docs_pages import Line, first_page, stand_alone
from spark_jobs.quality.holds import FOLDER, Holds, accepted_of
from spark_jobs.quality.suites import Suites
from spark_jobs.quality.verdicts import Outcome, Verdict, told_of
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.reader import read_as_of
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.visible import visible_rows

DOCS = f"{FOLDER}/docs"
"""Folder of the lake in which Data Docs are."""
_HEAD = ("table", "as of", "expectations", "rows", "broken")

log = logging.getLogger(__name__)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument("--tables", default="", metavar="A,B", help="these tables alone")


def check(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> None:
    """Refuse at once tables of which nothing can be expected, and expectations that do not fit."""
    for table in _chosen(spec, arguments):
        expectations_of(spec, table)


def run(spark: SparkSession, arguments: JobArguments, settings: Settings) -> JobResult:
    """Ask every table that was made, print how many rows break something, and write Data Docs.

    A table whose rows break an expectation with action ``stop`` is held: what is served stays, until a later run finds
    it right or a person accepts it.

    Raises:
        ContractError: an expectation cannot be asked.
        AuditFailedError: rows break one that stops.
    """
    spec, holds = load_lake_spec(settings.lake_spec), Holds(settings)
    with tempfile.TemporaryDirectory(prefix="lakehouse-docs-") as folder:
        suites = Suites(Path(folder))
        found = dict(_ask_all(spark, suites, spec, arguments, settings))
        if found:
            suites.write_docs()
            _stand_alone(Path(folder), spec, found, arguments)
            _publish(Path(folder), Filesystem(settings.base_path))
    decided = {name: accepted_of(name, verdicts, holds) for name, (_, verdicts) in found.items()}
    failed = {name: [v for v in of_table if v.outcome is Outcome.STOPPED] for name, of_table in decided.items()}
    for name, (instant, _) in found.items():
        if failed[name]:
            holds.hold(name, arguments.job, failed[name], arguments.clock, instant=instant)
        elif (hold := holds.hold_of(name)) and hold.job == arguments.job:
            holds.let_go(name)
    print(format_table(_HEAD, [_cells(name, instant, decided[name]) for name, (instant, _) in found.items()]))
    told = tuple(line for name, of_table in decided.items() for line in told_of(name, of_table))
    result = JobResult(
        job=arguments.job,
        status=DONE if found else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        counters={
            "tables": len(found),
            "expectations": sum(map(len, decided.values())),
            "broken": sum(v.outcome is not Outcome.HELD for of_table in decided.values() for v in of_table),
        },
        messages=(*told, f"Data Docs: {settings.base_path}/{DOCS}/index.html") if found else (),
    )
    if any(failed.values()):
        lines = {name: [v.told for v in of_table] for name, of_table in failed.items() if of_table}
        raise AuditFailedError(failed=lines, result=result)
    return result


def _ask_all(
    spark: SparkSession, suites: Suites, spec: LakeSpec, arguments: JobArguments, settings: Settings
) -> Iterator[tuple[str, tuple[str, tuple[Verdict, ...]]]]:
    """Of each table that was made: its newest instant, and what was found as of it."""
    instants: dict[str, str] = {}
    for name in spec.table_names:
        timeline = Timeline(table=name, path=settings.table_path(name))
        timeline.check_version()
        if timeline.last:
            instants[name] = timeline.last

    def rows(table: str) -> DataFrame:
        if table not in instants:
            raise ContractError(f"{table} was never made; run the job that makes it before what refers to it is asked")
        return visible_rows(read_as_of(spark, settings.table_path(table), instants[table]), table, spec)

    for name in _chosen(spec, arguments):
        asked = tuple(each for each in expectations_of(spec, name) if each.kind in ROW_KINDS | WHOLE_KINDS)
        if name in instants and asked:
            log.info("asking %s: %d expectations", name, len(asked))
            yield name, (instants[name], suites.ask(name, rows(name), asked, rows, as_of=instants[name]))


def _chosen(spec: LakeSpec, arguments: JobArguments) -> list[str]:
    known = [name for name in spec.table_names if name != spec.quarantine]
    asked = [name.strip() for name in arguments.options["tables"].split(",") if name.strip()]
    if unknown := sorted(set(asked) - set(known)):
        raise ContractError(f"lake {spec.lake} has no table {show(unknown[0])} (--tables); it has {known}")
    return asked or known


def _cells(table: str, instant: str, verdicts: tuple[Verdict, ...]) -> tuple[object, ...]:
    broken = [each.expectation.name for each in verdicts if each.outcome is not Outcome.HELD]
    return table, instant, len(verdicts), max((each.asked for each in verdicts), default=0), ", ".join(broken) or "-"


def _stand_alone(
    folder: Path, spec: LakeSpec, found: Mapping[str, tuple[str, tuple[Verdict, ...]]], arguments: JobArguments
) -> None:
    """Take what the pages would fetch out of them, and write the first one anew."""
    pages = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.html")}
    for path in pages.values():
        path.write_text(stand_alone(path.read_text(encoding="utf-8")), encoding="utf-8")
    of_table = {name: next(page for page in pages if page.startswith(f"validations/{name}/")) for name in found}
    lines = (
        Line(
            table=name,
            instant=instant,
            name=each.expectation.name,
            expected=each.expectation.expected,
            asked=each.asked,
            broken=each.broken,
            outcome="holds" if each.outcome is Outcome.HELD else each.outcome,
            page=of_table[name],
        )
        for name, (instant, verdicts) in found.items()
        for each in verdicts
    )
    text = first_page(spec.lake, format_clock(arguments.clock), lines)
    (folder / "index.html").write_text(text, encoding="utf-8")


def _publish(folder: Path, files: Filesystem) -> None:
    """Lay the site beside the tables; pages of tables that are gone go with the old one."""
    made = {f"{DOCS}/{path.relative_to(folder).as_posix()}": path for path in folder.rglob("*") if path.is_file()}
    for name, path in sorted(made.items()):
        files.write(name, path.read_bytes())
    for entry in files.list_files(DOCS, recursive=True):
        name = f"{DOCS}/{entry.path.partition(f'{DOCS}/')[2]}"
        if name not in made:
            files.delete(name)
