"""Options of the job ``load``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from spark_jobs.contracts.options import JobOptions, Option
from spark_jobs.lake_spec.loads import FileFormat, LoadOperation


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions(JobOptions):
    """Which files, into which table, and how."""

    names_lake: ClassVar[bool] = True

    table: Annotated[str, Option("one of the loads of the lake spec")]
    from_path: Annotated[str, Option("a file, or a folder whose files are one load", flag="--from", metavar="PATH")]
    format: Annotated[FileFormat | None, Option("format of the files (default: by their names)")] = None
    delimiter: Annotated[str, Option("the separator of values in CSV (default: a comma)")] = ","
    operation: Annotated[LoadOperation | None, Option("another operation than in the lake spec")] = None
    again: Annotated[bool, Option("also when the same files were loaded before")] = False
