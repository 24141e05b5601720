"""Options that several jobs have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from spark_jobs.contracts.answers import PrintedForm
from spark_jobs.contracts.exports import ExportFormat
from spark_jobs.contracts.options import JobOptions, Option

DEFAULT_ROWS = 50
_FILES = "files, for all rows, instead of a printed table"

OneTable = Annotated[str | None, Option("one table alone")]
Tables = Annotated[str, Option("these tables alone", metavar="A,B")]
OneMart = Annotated[str | None, Option("one mart of the layer alone")]
CARRY_OUT = "carry out the plan; by default it is only shown"
DECIDED_BY = "who decided (default: the user of this machine)"
PLAN_FILE = "the file that plan wrote, or the id of a plan that is kept in the lake"

Plan = Annotated[str, Option(PLAN_FILE, metavar="FILE")]
Yes = Annotated[bool, Option(CARRY_OUT)]
Rows = Annotated[int, Option("most rows to print (default 50)")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions(JobOptions):
    """Of a job that prints rows: in which form, or all of them to files."""

    rows: Annotated[int | None, Option("most rows to print (default: 50 in a table, else all)", at_least=1)] = None
    output: Annotated[
        str,
        Option(
            "write there: a folder x.parquet, a file x.csv or x.csv.gz, or a folder x.csv/ of several files",
            metavar="PATH",
            group=_FILES,
        ),
    ] = ""
    format: Annotated[
        str,
        Option(
            f"of files: {' or '.join(ExportFormat)}, when the name does not say it; "
            f"of printed rows: {' or '.join(PrintedForm)}",
            metavar="FORMAT",
        ),
    ] = ""
    overwrite: Annotated[bool, Option("replace what an export before it left there", group=_FILES)] = False
    for_spreadsheets: Annotated[
        bool,
        Option(
            "CSV: put an apostrophe before texts that begin with =, +, - or @, which spreadsheets would execute",
            group=_FILES,
        ),
    ] = False

    @property
    def printed(self) -> PrintedForm | None:
        """The form in which rows are printed; None when none was given."""
        return PrintedForm(self.format) if not self.output and self.format in set(PrintedForm) else None

    @property
    def most_rows(self) -> int | None:
        """How many rows are printed at most; None: all."""
        return self.rows or (DEFAULT_ROWS if self.printed in (None, PrintedForm.TABLE) else None)
