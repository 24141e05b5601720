"""What jobs that print rows share: writing all of them to files instead."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.answers import Answer, PrintedForm
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.exports import (
    ExportFormat,
    ExportTarget,
    check_apart,
    check_columns,
    csv_header,
    parse_target,
)
from spark_jobs.contracts.names import show
from spark_jobs.contracts.settings import Settings
from spark_jobs.job_options.shared import DEFAULT_ROWS, ExportOptions
from spark_jobs.storage.exports import check_free, write_export
from spark_jobs.transforms.csv_lines import to_csv_lines

_NEEDS_OUTPUT = {"overwrite": "--overwrite", "for_spreadsheets": "--for-spreadsheets"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """Counters and a line for a job's result."""

    counters: dict[str, int]
    message: str


def find_target(options: ExportOptions, settings: Settings) -> ExportTarget | None:
    """Where the rows go; None when they are printed. It is looked at before anything is read.

    Raises:
        ContractError: the options do not fit together, or what is at that path may not be replaced.
    """
    if not options.output:
        if idle := [flag for name, flag in _NEEDS_OUTPUT.items() if getattr(options, name)]:
            raise ContractError(f"{idle[0]} is for files; say where they go with --output")
        if options.format and options.printed is None:
            raise ContractError(
                f"--format {show(options.format)} is for files, which --output names; printed are "
                f"{', '.join(PrintedForm)}"
            )
        return None
    target = parse_target(options.output, format_name=options.format, overwrite=options.overwrite)
    if options.for_spreadsheets and target.format is not ExportFormat.CSV:
        raise ContractError("--for-spreadsheets is for CSV; leave it out, or name a file that ends in .csv")
    check_apart(target.path, (settings.base_path, settings.landing_path))
    check_free(target)
    return target


def print_rows(rows_df: DataFrame, options: ExportOptions) -> tuple[str, ...]:
    """Print the first rows, in the order that they have; gives a line for people when there are more.

    Without ``--format`` as Spark shows them.
    """
    most = options.most_rows
    if options.printed is None:
        rows_df.show(most or DEFAULT_ROWS, truncate=False)
        return ()
    rows = (rows_df if most is None else rows_df.limit(most + 1)).collect()
    return print_answer(Answer.of(rows_df.columns, rows, most), options)


def print_answer(answer: Answer, options: ExportOptions) -> tuple[str, ...]:
    """Print an answer in the form that the options say; gives a line for people when there are more rows."""
    for line in answer.lines(options.printed or PrintedForm.TABLE):
        print(line)
    return (f"these are the first {len(answer.rows)} rows; --rows prints more",) if answer.has_more else ()


def export_rows(spark: SparkSession, rows_df: DataFrame, target: ExportTarget, options: ExportOptions) -> Export:
    """Write every row, in the order that it has.

    Raises:
        ContractError: two columns have one name, or something that may not be replaced came to that path.
    """
    check_columns(rows_df.columns)
    header = csv_header(rows_df.columns)
    if target.format is ExportFormat.CSV:
        guards = options.for_spreadsheets
        # One task for one file; it takes the partitions one after another, so sorted rows stay sorted.
        rows_df = to_csv_lines(rows_df if target.is_folder else rows_df.coalesce(1), guards_formulas=guards)
    done = write_export(spark, rows_df, target, header=header)
    counters = asdict(done)
    return Export(counters=counters, message=f"{done.rows} rows, {done.bytes} bytes, {done.files} files: {target.path}")
