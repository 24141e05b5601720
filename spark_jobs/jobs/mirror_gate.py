"""The gates of mirrors: each is asked of the rows that are about to be written to it, and stops no other.

Asked before anything of the batch is written, tombstones too: a mirror that is stopped stays as it is in every way.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.arguments import JobArguments
from spark_jobs.contracts.errors import ContractError, GateStoppedError
from spark_jobs.contracts.mirror_expectations import Expected
from spark_jobs.contracts.mirrors import IS_DELETED
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.quality.gate import Gate
from spark_jobs.quality.holds import let_pass
from spark_jobs.quality.verdicts import QUALITY_KEY, Verdict, to_metadata, told_of
from spark_jobs.transforms.mirrors import MirrorTable, to_mirror

_ROWS = "rows"

log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Passed:
    """What gates said: of each mirror that may be written, what its commit says of it; why the others may not."""

    said: dict[str, dict[str, str]] = field(default_factory=dict)
    failed: dict[str, Exception] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorGates:
    """The gates of a lake's mirrors, whose columns of now ``tables`` has, for one run."""

    spec: LakeSpec
    tables: Sequence[MirrorTable]
    run: JobArguments
    settings: Settings

    def ask(self, changed_df: DataFrame, tables: Sequence[MirrorTable]) -> Passed:
        """Ask the gates of these mirrors of their rows among the changed ones, one aggregate each, side by side."""
        columns = {table.name: table.columns for table in self.tables}
        expected, passed = Expected(spec=self.spec, columns_of=lambda name: columns.get(name, ())), Passed()

        def ask_one(table: MirrorTable) -> tuple[str, ...]:
            try:
                rows, verdicts = self._ask(to_mirror(changed_df, table), table, expected)
            except GateStoppedError as error:
                log.warning("%s: is stopped: %s", table.name, error)
                passed.failed[table.name] = error
            except Exception as error:
                log.exception("%s: could not be asked", table.name)
                passed.failed[table.name] = error
            else:
                passed.said[table.name] = {QUALITY_KEY: to_metadata(rows, verdicts)}
                return (*told_of(table.name, verdicts), *expected.waiting(table.name))
            return ()

        with ThreadPoolExecutor(self.settings.write_threads) as threads:
            passed.told += [line for lines in threads.map(ask_one, tables) for line in lines]
        return passed

    def _ask(
        self, rows_df: DataFrame, table: MirrorTable, expected: Expected
    ) -> tuple[Mapping[str, int], Sequence[Verdict]]:
        gate = Gate.asking(table.name, expected.of(table.name))
        # Of rows that are taken out there is no more than the key.
        is_live = ~F.coalesce(IS_DELETED, F.lit(True))
        try:
            row = rows_df.agg(F.count("*").alias(_ROWS), *gate.aggregates(rows_df.schema, of=is_live)).collect()[0]
        except AnalysisException as error:
            raise ContractError(
                f"{table.name}: an expectation does not fit its columns' types as they are now; correct it: "
                f"{' '.join(str(error).split())}"
            ) from error
        facts = row.asDict()
        verdicts = {table.name: gate.judge(facts)}
        passed = let_pass(verdicts, job=self.run.job, clock=self.run.clock, settings=self.settings)
        return {"written": int(facts[_ROWS])}, passed[table.name]
