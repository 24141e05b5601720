"""sizing: what a lake of so many GB a day needs, and how its files grow; arithmetic and a simulation, no engine."""

from __future__ import annotations

import argparse
from pathlib import Path

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.sizing.load import Load
from spark_jobs.sizing.sheets import evenness, files_over_time, partitioned, what_to_set
from spark_jobs.sizing.simulation import Advice
from spark_jobs.sizing.weights import RESULTS, load_weights
from spark_jobs.spec_files.spec_file import load_lake_spec


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    add = parser.add_argument
    add("--gb-per-day", type=float, nargs="+", required=True, metavar="GB", help="landing files of a day, plain JSON")
    add("--days", type=int, default=365, metavar="N", help="days that the lake is simulated for (default: 365)")
    minutes = "minutes between two batches, one number for all or one for each size (default: 5)"
    add("--batch-minutes", type=int, nargs="+", default=[5], metavar="N", help=minutes)
    add(
        "--peak",
        type=float,
        default=3.0,
        metavar="X",
        help="busiest batch as a multiple of the mean one (default: 3)",
    )
    skew = "how much more events are about new keys: 0 not at all (default: 1.5, the exponent of Zipf's law over days)"
    add("--skew", type=float, default=1.5, metavar="X", help=skew)
    add("--weights", default=str(RESULTS), metavar="FOLDER", help="the folder of sizes.json and growth.json of `bench`")


def needs_spark(arguments: JobArguments, settings: Settings) -> bool:
    """It reads files of the spec and of results alone."""
    return False


def run(spark: None, arguments: JobArguments, settings: Settings) -> JobResult:
    """Print what to set, and the files over time as shipped and as advised; warnings are in the result too.

    Raises:
        ContractError: a number that makes no sense.
        SettingsError: the weights cannot be read.
    """
    options = arguments.options
    spec, weights = load_lake_spec(settings.lake_spec), load_weights(Path(options["weights"]))
    sizes, minutes = options["gb_per_day"], options["batch_minutes"]
    if len(minutes) not in (1, len(sizes)):
        raise ContractError(
            f"--batch-minutes has {len(minutes)} numbers for {len(sizes)} sizes; give one, or one for each"
        )
    intervals = minutes if len(minutes) == len(sizes) else minutes * len(sizes)
    loads = [
        Load(gb_per_day=gb, batch_minutes=interval, weights=weights, peak=options["peak"], skew=options["skew"])
        for gb, interval in zip(sizes, intervals, strict=True)
    ]
    if (last := options["days"]) < 1:
        raise ContractError(f"--days {last} must be at least 1")
    days = sorted({day for day in (1, 30) if day < last} | {last})
    over_time = [
        files_over_time(load, spec, days=days, advice=Advice(is_followed=is_followed))
        for load in loads
        for is_followed in (False, True)
    ]
    sheets = [what_to_set(loads, spec, day=last), *over_time, partitioned(loads, spec, day=last), evenness()]
    print("\n\n".join(sheet.as_text() for sheet in sheets))
    messages = tuple(f"{sheet.title}: {note}" for sheet in over_time for note in sheet.notes)
    return JobResult(
        job=arguments.job,
        status=DONE,
        clock=format_clock(arguments.clock),
        counters={"loads": len(loads), "warnings": len(messages)},
        messages=messages,
    )
