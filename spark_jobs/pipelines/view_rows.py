"""The rows of the business's views, for those who show them: without a JVM where that is certain, else by Spark."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from spark_jobs.contracts.answers import Answer
from spark_jobs.contracts.errors import ContractError, TransientError
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.pipelines.local_query import AnsweredBySparkError, plan_locally
from spark_jobs.pipelines.temporary_views import register_all
from spark_jobs.sql_analysis.statements import reached
from spark_jobs.storage.timeline import Timeline

if TYPE_CHECKING:
    from spark_jobs.spec_files.views import ViewSpec

MOST_ROWS = 100_000
"""Of one view: what is shown is added up in this process."""
_ATTEMPTS = 3
_LOCAL, _SPARK = "local", "spark"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRows:
    """A view's rows, and of each stored table behind it the newest commit that changed rows.

    ``answer`` is None while a table was never made, which then has no instant.
    """

    answer: Answer | None
    instants: Mapping[str, Instant | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewReader:
    """Reads views of a lake.

    ``engine`` is the one of a query: ``local``, ``spark``, or ``auto`` for the first that is certain. ``session`` opens
    Spark, and is called when that is needed and not before.
    """

    spec: LakeSpec
    settings: Settings
    views: Collection[ViewSpec]
    engine: str
    session: Callable[[], SparkSession]

    def read(self, view: str, columns: tuple[str, ...]) -> ViewRows:
        """The rows of a view, of these columns.

        Raises:
            ContractError: Spark is needed and may not be used, or there are too many rows.
            TransientError: a table was written each time that it was read.
        """
        reads = {each.name: each.reads for each in self.views}
        names = reached({view}, reads)
        tables = sorted({self.spec.stored_name(name) for name in names - reads.keys()})
        for _ in range(_ATTEMPTS):
            instants = self._instants(tables)
            if None in instants.values():
                return ViewRows(answer=None, instants=instants)
            answer = self._answer(view, columns, names, tables)
            if self._instants(tables) == instants:
                return ViewRows(answer=answer, instants=instants)
        raise TransientError(f"view {view}: its tables were written each time that it was read; run again")

    def _instants(self, tables: Collection[str]) -> dict[str, Instant | None]:
        found = {}
        for table in tables:
            timeline = Timeline(table=table, path=self.settings.table_path(table))
            timeline.check_readable()
            found[table] = timeline.last
        return found

    def _answer(self, view: str, columns: tuple[str, ...], names: Collection[str], tables: Collection[str]) -> Answer:
        sql = " ".join(("SELECT", ", ".join(columns), "FROM", view))  # identifiers of the spec: a-z, 0-9 and _
        if self.engine != _SPARK:
            try:
                return _whole(plan_locally(sql, self.spec, self.settings).answer(MOST_ROWS), view)
            except AnsweredBySparkError as error:
                if self.engine == _LOCAL:
                    raise ContractError(f"view {view}: {error}; leave out --engine local") from error
                log.info("view %s: Spark answers: %s", view, error)
        return _whole(self._by_spark(sql, names, tables), view)

    def _by_spark(self, sql: str, names: Collection[str], tables: Collection[str]) -> Answer:
        """The answer, of the columns that the statement names."""
        spark = self.session()
        register_all(spark, self.spec, self.settings, only={*names, *tables})
        answer_df = spark.sql(sql)
        return Answer.of(answer_df.columns, answer_df.limit(MOST_ROWS + 1).collect(), MOST_ROWS)


def _whole(answer: Answer, view: str) -> Answer:
    if answer.has_more:
        raise ContractError(f"view {view} has more than {MOST_ROWS:,} rows; add them up in the view, with GROUP BY")
    return answer
