"""Options of the job ``split``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from spark_jobs.contracts.options import JobOptions, Option


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitOptions(JobOptions):
    """Which tables are merged; none named: all."""

    takes_interval: ClassVar[bool] = True
    names_lake: ClassVar[bool] = True
    leaves_session: ClassVar[bool] = True

    databases: Annotated[
        str, Option("only tables of these databases or schemas at the source, such as crm,shop*", metavar="PATTERNS")
    ] = ""
    tables: Annotated[str, Option("only these tables, such as order*,customers", metavar="PATTERNS")] = ""
