"""sizing: what a lake of so many GB a day needs, and how its files grow; arithmetic and a simulation, no engine."""

from __future__ import annotations

from pathlib import Path

from spark_jobs.context import Job, JobContext, never
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.job_options.sizing import SizingOptions
from spark_jobs.sizing.load import Load
from spark_jobs.sizing.sheets import evenness, files_over_time, freshness, in_ranges, what_to_set
from spark_jobs.sizing.simulation import Advice
from spark_jobs.sizing.weights import load_weights
from spark_jobs.spec_files.spec_file import load_lake_spec


def run(context: JobContext[SizingOptions]) -> JobResult:
    """Print what to set, and the files over time as shipped and as advised; warnings are in the result too.

    Raises:
        ContractError: a number that makes no sense.
        SettingsError: the weights cannot be read.
    """
    settings = context.settings
    options = context.options
    spec, weights = load_lake_spec(settings.lake_spec), load_weights(Path(options.weights))
    sizes, minutes = options.gb_per_day, options.batch_minutes
    if len(minutes) not in (1, len(sizes)):
        raise ContractError(
            f"--batch-minutes has {len(minutes)} numbers for {len(sizes)} sizes; give one, or one for each"
        )
    intervals = minutes if len(minutes) == len(sizes) else minutes * len(sizes)
    loads = [
        Load(gb_per_day=gb, batch_minutes=interval, weights=weights, peak=options.peak, skew=options.skew)
        for gb, interval in zip(sizes, intervals, strict=True)
    ]
    last = options.days
    days = sorted({day for day in (1, 30) if day < last} | {last})
    over_time = [
        files_over_time(load, spec, days=days, advice=Advice(is_followed=is_followed))
        for load in loads
        for is_followed in (False, True)
    ]
    sheets = [
        *(what_to_set(loads, spec, day=last), *over_time, freshness(loads, spec, day=last)),
        *(in_ranges(loads, spec, day=last), evenness()),
    ]
    print("\n\n".join(sheet.as_text() for sheet in sheets))
    messages = tuple(f"{sheet.title}: {note}" for sheet in over_time for note in sheet.notes)
    return context.result(
        DONE,
        counters={"loads": len(loads), "warnings": len(messages)},
        messages=messages,
    )


JOB = Job(options=SizingOptions, run=run, needs_spark=never)
