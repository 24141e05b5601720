"""checks: rules of the tables, each a SELECT of the rows that break it; ``run`` runs them and prints what they find.

It reads what people read: live rows, by the columns that mean something. Only keys are printed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.arguments import names_of
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.identifiers import check_identifier
from spark_jobs.contracts.job_errors import ChecksFailedError, ChecksUndecidedError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.checks import ChecksOptions
from spark_jobs.pipelines.temporary_views import register_tables
from spark_jobs.spec_files.checks import CHECK_ID, ROWS_COUNT, CheckSpec, count_sql, load_checks
from spark_jobs.storage.catalog.athena import query
from spark_jobs.storage.catalog.view_ddl import database_of
from spark_jobs.storage.timeline import Timeline

MOST_SAMPLES = 3
_LIST_HEAD, _RUN_HEAD = ("check", "reads", "what"), ("check", "outcome", "rows", "such as")

log = logging.getLogger(__name__)

Row = Mapping[str, Any]
Query = Callable[[str], Sequence[Row]]
"""The rows of a SELECT."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutcome:
    """What a check found: how many rows, the first of them; or the tables that it would need, which were never made."""

    check: CheckSpec
    rows: int = 0
    samples: tuple[Row, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def details(self) -> str:
        """Keys of the samples, or what is missing."""
        if self.missing:
            return f"needs {', '.join(self.missing)}"
        return "; ".join(", ".join(f"{key}={sample[key]}" for key in self.check.keys) for sample in self.samples)

    @property
    def cells(self) -> tuple[str, str, int | None, str]:
        """One line of the table that is printed."""
        state = "not run" if self.missing else "broken" if self.rows else "holds"
        return self.check.id, state, None if self.missing else self.rows, self.details


def needs_spark(context: JobContext[ChecksOptions]) -> bool:
    """Only where Spark runs the checks."""
    return context.options.action == "run" and context.options.engine == "spark"


def check(context: JobContext[ChecksOptions]) -> None:
    """Refuse at once files that cannot be used, and tables without checks."""
    _load(context)


def run(context: JobContext[ChecksOptions]) -> JobResult:
    """List the checks, or run them and print how many rows break each rule, with the keys of the first.

    Raises:
        ContractError: a file of checks cannot be used, or Spark refuses a SELECT.
        ChecksFailedError: rows were found.
        ChecksUndecidedError: none was, and some checks read tables without a commit.
    """
    checks = _load(context)
    if context.options.action == "list":
        rows = [(each.id, ", ".join(sorted(each.reads)), each.description) for each in checks]
        print(format_table(_LIST_HEAD, rows))
        return _result(context, [], listed=len(checks))
    outcomes = []
    for number, outcome in enumerate(_run_all(context, checks), start=1):
        log.info("check %d of %d: %s %s", number, len(checks), outcome.check.id, outcome.cells[1])
        outcomes.append(outcome)
    print(format_table(_RUN_HEAD, [outcome.cells for outcome in outcomes]))
    result = _result(context, outcomes)
    if broken := {outcome.check.id: outcome.rows for outcome in outcomes if outcome.rows}:
        raise ChecksFailedError(broken=broken, result=result)
    if missing := sorted({table for outcome in outcomes for table in outcome.missing}):
        raise ChecksUndecidedError(tables=missing, result=result)
    return result


def run_checks(
    checks: Sequence[CheckSpec], made: Collection[str], query_engine: Query, *, most: int = MOST_SAMPLES
) -> Iterator[CheckOutcome]:
    """Run the checks of one table after another; those of tables that were never ``made`` are missing.

    One query counts for all checks of a table, which costs half of one for each; another gives the keys where it found
    any.
    """
    for _, group in groupby(checks, key=attrgetter("table")):
        of_table = list(group)
        answerable = [each for each in of_table if each.reads <= set(made)]
        counts = (
            {row[CHECK_ID]: int(row[ROWS_COUNT]) for row in query_engine(count_sql(answerable))} if answerable else {}
        )
        for each in of_table:
            rows = counts.get(each.id, 0)
            samples = tuple(query_engine(each.sample_sql(most))) if rows else ()
            missing = tuple(sorted(each.reads - set(made)))
            yield CheckOutcome(check=each, rows=rows, samples=samples, missing=missing)


def query_spark(spark: SparkSession, sql: str) -> Sequence[Row]:
    """The rows of a SELECT over what is registered; ContractError when Spark refuses it."""
    from pyspark.errors import AnalysisException, ParseException

    try:
        return [row.asDict() for row in spark.sql(sql).collect()]
    except (AnalysisException, ParseException) as error:
        raise ContractError(f"Spark refuses a check: {' '.join(str(error).split(';')[0].split())[:300]}") from error


def _load(context: JobContext[ChecksOptions]) -> tuple[CheckSpec, ...]:
    spec, settings = context.spec, context.settings
    tables = names_of(context.options.tables)
    return load_checks(Path(settings.checks_path), spec, tables)


def _run_all(context: JobContext[ChecksOptions], checks: Sequence[CheckSpec]) -> Iterator[CheckOutcome]:
    spec, settings = context.spec, context.settings
    read = {table for each in checks for table in each.reads}
    if needs_spark(context):
        made = register_tables(context.spark, spec, settings, only=read)
        return run_checks(checks, made, partial(query_spark, context.spark))
    database = settings.catalog_database or spec.lake
    check_identifier(database, "LAKEHOUSE_CATALOG_DATABASE")
    made = [name for name in read if Timeline(table=name, path=settings.table_path(name)).last]
    return run_checks(checks, made, partial(query, schema=database_of(database), settings=settings))


def _result(context: JobContext[ChecksOptions], outcomes: Sequence[CheckOutcome], *, listed: int = 0) -> JobResult:
    count = listed or len(outcomes)
    broken, missing = [o for o in outcomes if o.rows], [o for o in outcomes if o.missing]
    return context.result(
        DONE if count else NOTHING_TO_DO,
        counters={
            "checks": count,
            "held": len(outcomes) - len(broken) - len(missing),
            "broken": len(broken),
            "missing": len(missing),
            "rows": sum(outcome.rows for outcome in broken),
        },
        messages=(
            *(f"{outcome.check.id}: {outcome.rows} rows, such as {outcome.details}" for outcome in broken),
            *(f"{outcome.check.id}: not run, {outcome.details}" for outcome in missing),
        ),
    )


JOB = Job(options=ChecksOptions, run=run, check=check, needs_spark=needs_spark)
