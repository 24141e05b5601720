"""What a plan file says that apply would do."""

from __future__ import annotations

from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from spark_jobs.lake_spec.lake_plan import HEADER
from spark_jobs.storage.plan_files import read_plan


def print_plan(place: str) -> JobResult:
    """Print the changes of a plan, and give what a job would report of it."""
    plan = read_plan(place, Settings.from_environment())
    print(format_table(HEADER, [change.cells() for change in plan.changes]))
    return JobResult(job="apply", status=DONE, clock=plan.made_at)
