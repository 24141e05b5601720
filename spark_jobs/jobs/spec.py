"""spec: look the lake spec through. ``spec check`` tells everything that is wrong with it by file and line.

It looks at the spec, at each mart and whether its mode is right for its SQL, and at each expectation.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.expectations import Expectation
from spark_jobs.contracts.lake_check import check_lake
from spark_jobs.contracts.marts import MartSpec
from spark_jobs.contracts.mirrors import MirrorSpec
from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table

_HEAD = ("mart", "layer", "mode", "reads", "grain", "result")
_MIRRORED = ("mirror", "of", "key", "deletes", "partition", "result")
_EXPECTED = ("expectation", "action", "expected", "result")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument(
        "action", choices=["check"], help="check: tell every mistake in the spec, its marts and expectations by line"
    )


def needs_spark(arguments: JobArguments, settings: Settings) -> bool:
    """It reads files of the spec alone."""
    return False


def run(spark: None, arguments: JobArguments, settings: Settings) -> JobResult:
    """Print a line for every mirror, mart and expectation, or for everything that is wrong; needs no Spark.

    Raises:
        ContractError: something is wrong. All of it was printed; the message has the number and the first of it.
    """
    checked = check_lake(_as_written(Path(settings.lake_spec)))
    if checked.mistakes or checked.spec is None:
        print("\n".join(checked.mistakes))
        raise _refusal(checked.mistakes)
    spec = checked.spec
    if spec.mirrors:
        print(format_table(_MIRRORED, list(map(_mirrored, spec.mirrors))))
    if spec.marts or not spec.mirrors:
        print(format_table(_HEAD, list(map(_line, spec.marts))))
        print(format_table(_EXPECTED, list(map(_told, spec.expectations))))
    counters = {"marts": len(spec.marts), "expectations": len(spec.expectations), "mirrors": len(spec.mirrors)}
    return JobResult(job=arguments.job, status=DONE, clock=format_clock(arguments.clock), counters=counters)


def _as_written(path: Path) -> Path:
    """The path as somebody in this folder would write it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _mirrored(mirror: MirrorSpec) -> tuple[str, ...]:
    return (mirror.name, mirror.origin, ", ".join(mirror.key), mirror.deletes.value, mirror.partition, "ok")


def _line(mart: MartSpec) -> tuple[str, ...]:
    reads, grain = (", ".join(names) for names in ([read.table for read in mart.reads], mart.grain))
    return (mart.name, mart.layer, mart.mode.value, reads, grain, "ok")


def _told(each: Expectation) -> tuple[str, ...]:
    return (each.id, each.action.value, each.expected, "ok")


def _refusal(mistakes: Sequence[str]) -> ContractError:
    others = f"; the other {len(mistakes) - 1} are printed above" if len(mistakes) > 1 else ""
    return ContractError(f"{len(mistakes)} wrong: {mistakes[0]}{others}")
