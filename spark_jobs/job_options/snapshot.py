"""Options of the job ``snapshot``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from spark_jobs.contracts.options import JobOptions, Option


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotOptions(JobOptions):
    """Which table of the database, and in which parts."""

    names_lake: ClassVar[bool] = True

    table: Annotated[
        str,
        Option(
            "schema and table as the database writes them; with MySQL and MariaDB database and table",
            metavar="SCHEMA.TABLE",
        ),
    ]
    server_name: Annotated[str, Option("the topic.prefix of the connector that sends its changes", metavar="NAME")]
    partition_column: Annotated[
        str, Option("its key, a number or a date, to read it in parts by; without it in one part", metavar="COLUMN")
    ] = ""
    decimals: Annotated[
        Literal["precise", "string"],
        Option("as the connector's decimal.handling.mode, so that a column of a table has one type (default: precise)"),
    ] = "precise"
    parts: Annotated[int | None, Option("how many parts (default: one for 50,000 rows)", at_least=1)] = None
    max_rows: Annotated[int | None, Option("about as many rows a commit (LAKEHOUSE_MAX_EVENTS)", at_least=1)] = None
    max_parts: Annotated[int | None, Option("most parts to read in this run; the next one goes on", at_least=1)] = None
    again: Annotated[bool, Option("start from scratch, even if it was read or begun before")] = False
