"""The gates of mirrors: each is asked of the rows that are about to be written to it, and stops no other.

Asked before anything of the batch is written, tombstones too: a mirror that is stopped stays as it is in every way.
What is implied of all mirrors is counted in one query; one of which more is expected has an aggregate of its own.
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
from spark_jobs.contracts.expectations import Expectation, Kind
from spark_jobs.contracts.mirror_expectations import Expected
from spark_jobs.contracts.mirrors import IS_DELETED, ROW_ORDER
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.quality.gate import Gate, judge_rows
from spark_jobs.quality.holds import let_pass
from spark_jobs.quality.verdicts import QUALITY_KEY, Outcome, Verdict, to_metadata, told_of
from spark_jobs.transforms.mirrors import MirrorTable, slot_names, to_mirror
from spark_jobs.transforms.newest import TABLE

_ROWS, _LIVE = "rows", "live"

log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Passed:
    """What gates said: of each mirror that may be written, what its commit says of it; why others may not.

    Mirrors without a changed row are among neither.
    """

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
        """Ask the gates of these mirrors, those of which more is expected side by side, of their changed rows."""
        counts = _count(changed_df, tables)
        columns = {table.name: table.columns for table in self.tables}
        expected, passed = Expected(spec=self.spec, columns_of=lambda name: columns.get(name, ())), Passed()

        def ask_one(table: MirrorTable) -> tuple[str, ...]:
            try:
                verdicts = self._verdicts(changed_df, table, counts[table.name], expected)
            except GateStoppedError as error:
                log.warning("%s: is stopped: %s", table.name, error)
                passed.failed[table.name] = error
            except Exception as error:
                log.exception("%s: could not be asked", table.name)
                passed.failed[table.name] = error
            else:
                said = to_metadata({"written": counts[table.name][_ROWS]}, verdicts)
                passed.said[table.name] = {QUALITY_KEY: said}
                return (*told_of(table.name, verdicts), *expected.waiting(table.name))
            return ()

        changed = [table for table in tables if table.name in counts]
        with ThreadPoolExecutor(self.settings.write_threads) as threads:
            passed.told += [line for lines in threads.map(ask_one, changed) for line in lines]
        return passed

    def _verdicts(
        self, changed_df: DataFrame, table: MirrorTable, counts: Mapping[str, int], expected: Expected
    ) -> Sequence[Verdict]:
        """What is said of one mirror's rows; GateStoppedError when it may not be written, and is held."""
        gate = Gate.asking(table.name, expected.of(table.name))
        is_counted = all(each.is_implied for each in gate.expectations)
        found = _judge(gate, table, counts) if is_counted else _ask(gate, to_mirror(changed_df, table))
        passed = let_pass({table.name: found}, job=self.run.job, clock=self.run.clock, settings=self.settings)
        return passed[table.name]


def _count(changed_df: DataFrame, tables: Sequence[MirrorTable]) -> dict[str, dict[str, int]]:
    """Of each mirror that has any, its changed rows, the live ones, and of these those that are null in each slot."""
    is_live = F.col(ROW_ORDER).isNotNull()
    slots = slot_names(max(len(table.columns) for table in tables))
    nulls = [F.count_if(is_live & F.col(slot)["value"].isNull()).alias(slot) for slot in slots]
    counts_df = changed_df.groupBy(TABLE).agg(F.count("*").alias(_ROWS), F.count_if(is_live).alias(_LIVE), *nulls)
    facts = [row.asDict() for row in counts_df.collect()]
    return {each.pop(TABLE): each for each in facts}


def _judge(gate: Gate, table: MirrorTable, counts: Mapping[str, int]) -> Sequence[Verdict]:
    """Verdicts on what is implied, all of it about nulls, from what was counted."""
    slots = dict(zip((column.name for column in table.columns), slot_names(len(table.columns)), strict=True))

    def verdict(each: Expectation) -> Verdict:
        live, nulls = counts[_LIVE], counts[slots[each.columns[0]]]
        if each.kind is Kind.NOT_NULL:
            return judge_rows(each, asked=live, broken=nulls)
        return Verdict(expectation=each, asked=live, broken=nulls, outcome=Outcome.HELD)

    return tuple(map(verdict, gate.expectations))


def _ask(gate: Gate, rows_df: DataFrame) -> Sequence[Verdict]:
    """Verdicts on rows that are about to be written, live ones: of those that are taken out there is but the key."""
    is_live = ~F.coalesce(IS_DELETED, F.lit(True))
    try:
        (row,) = rows_df.agg(*gate.aggregates(rows_df.schema, of=is_live)).collect()
    except AnalysisException as error:
        raise ContractError(
            f"{gate.table}: an expectation does not fit its columns' types as they are now; correct it: "
            f"{' '.join(str(error).split())}"
        ) from error
    return gate.judge(row.asDict())
