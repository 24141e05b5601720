"""init: a new lake at the base path, which every other command needs; the landing folder beside it."""

from __future__ import annotations

from spark_jobs.context import Job, JobContext, never
from spark_jobs.contracts.names import show_path
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.job_options.init import InitOptions
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.lake_names import make_lake, make_landing


def run(context: JobContext[InitOptions]) -> JobResult:
    """Give the lake its name, and make the landing folder where it is missing; nothing happens when both are there.

    Raises:
        OtherLakeError: another lake is at the base path.
        UnnamedLakeError: tables are there, and they may be of another lake.
        NotEmptyError: something else is there.
    """
    settings = context.settings
    lake = load_lake_spec(settings.lake_spec).lake
    is_named = make_lake(lake, settings, may_adopt=context.options.adopt)
    is_landed = make_landing(settings)
    messages = (
        f"lake {lake}: {'is at' if is_named else 'was already at'} {show_path(settings.base_path)}",
        f"landing folder: {'made' if is_landed else 'was already there'}: {show_path(settings.landing_path)}",
    )
    print("\n".join(messages))
    return context.result(
        DONE if is_named or is_landed else NOTHING_TO_DO,
        counters={"lakes_made": int(is_named), "folders_made": int(is_landed)},
        messages=messages,
    )


JOB = Job(options=InitOptions, run=run, needs_spark=never)
