"""spec: look the lake spec through. ``spec check`` says whether each mart's mode is right for its SQL, and why not.

Then it says of each expectation whether it fits its table.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.documents import read_document
from spark_jobs.contracts.errors import ContractError, LakehouseError
from spark_jobs.contracts.expectation_file import read_expectations
from spark_jobs.contracts.expectation_sql import check_expectation
from spark_jobs.contracts.expectations import Expectation
from spark_jobs.contracts.mart_file import load_mart
from spark_jobs.contracts.mart_sql import analyse_mart
from spark_jobs.contracts.marts import MartSpec
from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.spec_file import load_lake_spec
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.contracts.text_table import format_table

_HEAD = ("mart", "layer", "mode", "reads", "grain", "result")
_EXPECTED = ("expectation", "action", "expected", "result")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument(
        "action", choices=["check"], help="check: look at every mart and expectation and say what is wrong with it"
    )


def needs_spark(arguments: JobArguments, settings: Settings) -> bool:
    """It reads files of the spec alone."""
    return False


def run(spark: None, arguments: JobArguments, settings: Settings) -> JobResult:
    """Print a line for every mart and every expectation; needs no Spark.

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
    wrong = [problem for _, problem in outcomes if problem]
    if not wrong:  # an expectation of a mart that is wrong itself cannot be looked at
        expected = [(each, _wrong_in(each, spec)) for each in spec.expectations]
        print(format_table(_EXPECTED, [_told(each, problem) for each, problem in expected]))
        wrong = [problem for _, problem in expected if problem]
    if wrong:
        raise _refusal(wrong)
    counters = {"marts": len(outcomes), "expectations": len(spec.expectations)}
    return JobResult(job=arguments.job, status=DONE, clock=format_clock(arguments.clock), counters=counters)


def _problem(mart: MartSpec, spec: LakeSpec) -> str:
    try:
        analyse_mart(mart, spec)
    except ContractError as error:
        return str(error)
    return ""


def _wrong_in(each: Expectation, spec: LakeSpec) -> str:
    try:
        check_expectation(each, spec)
    except ContractError as error:
        return str(error)
    return ""


def _told(each: Expectation, problem: str) -> tuple[str, ...]:
    return (each.id, each.action.value, each.expected, problem.removeprefix(f"expectation {each.id}: ") or "ok")


def _broken_files(path: Path) -> Iterator[str]:
    """What is wrong with the files of marts and expectations, each on its own; nothing when it is the spec itself."""
    try:
        document = read_document(path, what="lake spec", then="correct it")
    except LakehouseError:
        return
    readers: dict[str, Callable[[Path], object]] = {"marts": load_mart, "expectations": read_expectations}
    for name, read in readers.items():
        folder = document.get(name) if isinstance(document, dict) else None
        for file in sorted((path.parent / folder).glob("*.yaml")) if isinstance(folder, str) else ():
            try:
                read(file)
            except LakehouseError as error:
                yield str(error)


def _refusal(problems: Sequence[str]) -> ContractError:
    others = f"; the other {len(problems) - 1} are printed above" if len(problems) > 1 else ""
    return ContractError(f"{len(problems)} wrong: {problems[0]}{others}")


def _line(mart: MartSpec, problem: str) -> tuple[str, ...]:
    reads, grain = (", ".join(names) for names in ([read.table for read in mart.reads], mart.grain))
    return (mart.name, mart.layer, mart.mode.value, reads, grain, problem.removeprefix(f"mart {mart.name}: ") or "ok")
