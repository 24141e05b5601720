"""spec: look the lake spec through. ``spec check`` says whether each mart's mode is right for its SQL, and why not."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.documents import read_document
from spark_jobs.contracts.errors import ContractError, LakehouseError
from spark_jobs.contracts.mart_file import load_mart
from spark_jobs.contracts.mart_sql import analyse_mart
from spark_jobs.contracts.marts import MartSpec
from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.spec_file import load_lake_spec
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.contracts.text_table import format_table

_HEAD = ("mart", "layer", "mode", "reads", "grain", "result")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument("action", choices=["check"], help="check: look at every mart and say what is wrong with it")


def needs_spark(arguments: JobArguments, settings: Settings) -> bool:
    """It reads files of the spec alone."""
    return False


def run(spark: None, arguments: JobArguments, settings: Settings) -> JobResult:
    """Print a line for every mart; needs no Spark.

    Raises:
        ContractError: something is wrong. All of it was printed; the message has the number and the first of it.
    """
    try:
        spec = load_lake_spec(settings.lake_spec)
    except LakehouseError as error:
        problems = list(_broken_files(Path(settings.lake_spec))) or [str(error)]
        print("\n".join(problems))
        raise _refusal(problems) from error
    outcomes = [(mart, _problem(mart, spec)) for mart in spec.marts]
    print(format_table(_HEAD, [_line(mart, problem) for mart, problem in outcomes]))
    if problems := [problem for _, problem in outcomes if problem]:
        raise _refusal(problems)
    clock = format_clock(arguments.clock)
    return JobResult(job=arguments.job, status=DONE, clock=clock, counters={"marts": len(outcomes)})


def _problem(mart: MartSpec, spec: LakeSpec) -> str:
    try:
        analyse_mart(mart, spec)
    except ContractError as error:
        return str(error)
    return ""


def _broken_files(path: Path) -> Iterator[str]:
    """What is wrong with the files of marts, each on its own; nothing when it is the spec itself."""
    try:
        document = read_document(path, what="lake spec", then="correct it")
    except LakehouseError:
        return
    folder = document.get("marts") if isinstance(document, dict) else None
    for file in sorted((path.parent / folder).glob("*.yaml")) if isinstance(folder, str) else ():
        try:
            load_mart(file)
        except LakehouseError as error:
            yield str(error)


def _refusal(problems: Sequence[str]) -> ContractError:
    others = f"; the other {len(problems) - 1} are printed above" if len(problems) > 1 else ""
    return ContractError(f"{len(problems)} wrong: {problems[0]}{others}")


def _line(mart: MartSpec, problem: str) -> tuple[str, ...]:
    reads, grain = (", ".join(names) for names in ([read.table for read in mart.reads], mart.grain))
    return (mart.name, mart.layer, mart.mode.value, reads, grain, problem.removeprefix(f"mart {mart.name}: ") or "ok")
