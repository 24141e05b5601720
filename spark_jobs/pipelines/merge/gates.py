"""The gates of the tables that a merge is about to write, before anything of the batch is written, tombstones too.

What is implied of tables at the source is counted for all of them in one query, and tables of the wide log are checked
in the same one. A table at the source with expectations of its own has a query of its own, and stops no other table.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.context import AnyContext
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.job_errors import GateStoppedError
from spark_jobs.contracts.row_counts import RowCounts
from spark_jobs.lake_spec.expectations import Expectation, Kind
from spark_jobs.lake_spec.table_spec import IS_DELETED, ROW_ORDER
from spark_jobs.quality.gate import Gate, judge_rows
from spark_jobs.quality.holds import let_pass
from spark_jobs.quality.verdicts import QUALITY_KEY, Outcome, Verdict, describe_verdicts, to_metadata
from spark_jobs.sql_analysis.mirror_expectations import TableExpectations
from spark_jobs.transforms.keyed_rows import KEY, TABLE, MergedTable, slot_names, width_of
from spark_jobs.transforms.row_counts import count_merged, row_counts
from spark_jobs.transforms.row_orders import to_rows
from spark_jobs.transforms.texts import from_text

_ROWS, _LIVE, _NULLS = "rows", "live", "nulls_"

log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class GateOutcome:
    """What the gates found: of each table that may be written, what its commit says of it; why others may not.

    Tables without a changed row are among neither. ``blocked`` is why no table of the wide log may be written.
    ``rows`` is what the changed rows of each table are to its readers.
    """

    rows: dict[str, RowCounts]
    metadata: dict[str, dict[str, str]] = field(default_factory=dict)
    failed: dict[str, Exception] = field(default_factory=dict)
    blocked: Exception | None = None
    messages: list[str] = field(default_factory=list)

    def let_pass(self, name: str, written: int, verdicts: Sequence[Verdict]) -> None:
        """Say of a table that so many rows of it may be written, with these verdicts in the commit."""
        quality = {QUALITY_KEY: to_metadata({"written": written}, verdicts)}
        self.metadata[name] = {**quality, **self.rows[name].to_metadata()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """The gates of a lake's tables, whose columns of now ``tables`` has, for one run."""

    context: AnyContext
    tables: Sequence[MergedTable]

    def check(self, changed_df: DataFrame, tables: Sequence[MergedTable]) -> GateOutcome:
        """Check the changed rows of these tables: those of the wide log together, each other one by itself."""
        wide = [table for table in tables if not table.spec.is_mirror]
        gates = {table.name: Gate.of(self.context.spec, table.name) for table in wide}
        facts = self._facts(changed_df, tables, wide, gates)
        passed = GateOutcome(rows={name: row_counts(counts) for name, counts in facts.items()})
        self._check_wide({name: gate for name, gate in gates.items() if name in facts}, facts, passed)
        mirrors = [table for table in tables if table.spec.is_mirror and table.name in facts]
        columns = {table.name: table.columns for table in self.tables}
        expected = TableExpectations(spec=self.context.spec, columns_of=lambda name: columns.get(name, ()))
        with ThreadPoolExecutor(self.context.settings.write_threads) as threads:
            lines = threads.map(lambda table: self._check_one(changed_df, table, facts, expected, passed), mirrors)
            passed.messages += [line for of_table in lines for line in of_table]
        return passed

    def _check_wide(
        self, gates: Mapping[str, Gate], facts: Mapping[str, Mapping[str, int]], passed: GateOutcome
    ) -> None:
        """Tables of the wide log are written all or none: their rows are of the same events."""
        verdicts = {name: gate.judge(facts[name]) for name, gate in gates.items()}
        try:
            found = let_pass(verdicts, job=self.context.job, clock=self.context.clock, settings=self.context.settings)
        except GateStoppedError as error:
            passed.blocked = error
            return
        for name, of_table in found.items():
            passed.let_pass(name, facts[name][_ROWS], of_table)
            passed.messages += describe_verdicts(name, of_table)

    def _check_one(
        self,
        changed_df: DataFrame,
        table: MergedTable,
        facts: Mapping[str, Mapping[str, int]],
        expected: TableExpectations,
        passed: GateOutcome,
    ) -> tuple[str, ...]:
        """Check a table at the source; lines for people."""
        name, counts = table.name, facts[table.name]
        try:
            gate = Gate.of_expectations(name, expected.of(name))
            is_counted = all(each.is_implied for each in gate.expectations)
            found = _judge(gate, table, counts) if is_counted else _count_broken(gate, to_rows(changed_df, table))
            found = let_pass(
                {name: found}, job=self.context.job, clock=self.context.clock, settings=self.context.settings
            )[name]
        except GateStoppedError as error:
            log.warning("%s: blocked: %s", name, error)
            passed.failed[name] = error
            return ()
        except Exception as error:
            log.exception("%s: its expectations could not be checked", name)
            passed.failed[name] = error
            return ()
        passed.let_pass(name, counts[_ROWS], found)
        return (*describe_verdicts(name, found), *expected.waiting(name))

    def _facts(
        self,
        changed_df: DataFrame,
        tables: Sequence[MergedTable],
        wide: Sequence[MergedTable],
        gates: Mapping[str, Gate],
    ) -> dict[str, dict[str, int]]:
        """Of each table that has any: its changed rows, the live ones, and what its gate needs to know of them.

        Of tables at the source that is how many live rows are null in each slot.
        """
        is_live, values_df = F.col(ROW_ORDER).isNotNull(), changed_df
        aggregates = [F.count("*").alias(_ROWS), F.count_if(is_live).alias(_LIVE), *count_merged(tables)]
        mirrors = [table for table in tables if table.spec.is_mirror]
        slots = slot_names(width_of(mirrors))
        aggregates += [F.count_if(is_live & F.col(name)["value"].isNull()).alias(_NULLS + name) for name in slots]
        if wide:
            values_df = with_values(changed_df, wide)
            for name, gate in gates.items():
                aggregates += gate.aggregates(values_df.schema, of=(F.col(TABLE) == name) & ~F.col(IS_DELETED))
        rows = [row.asDict() for row in values_df.groupBy(TABLE).agg(*aggregates).collect()]
        return {each.pop(TABLE): each for each in rows}


def with_values(rows_df: DataFrame, tables: Sequence[MergedTable]) -> DataFrame:
    """Keyed rows with ``is_deleted`` and every column of these tables of the wide log, null in rows of others.

    A column that several of them have, by the same declaration, is there once.
    """
    texts, types = dict[str, list[Column]](), dict[str, str]()
    for table in tables:
        is_of_table, key = F.col(TABLE) == table.name, table.spec.key_column
        texts.setdefault(key, []).append(F.when(is_of_table, F.col(KEY)))
        types[key] = table.key_type
        for column, name in zip(table.columns, table.slots, strict=True):
            if column.name != key:
                texts.setdefault(column.name, []).append(F.when(is_of_table, F.col(name)["value"]))
                types[column.name] = column.type
    follows = [table.name for table in tables if table.spec.keeps_tombstones]
    is_deleted = F.col(TABLE).isin(follows) & F.col(ROW_ORDER).isNull()
    values = [from_text(F.coalesce(*parts), types[name]).alias(name) for name, parts in texts.items()]
    kept = [name for name in rows_df.columns if name not in texts]
    return rows_df.select(*kept, is_deleted.alias(IS_DELETED), *values)


def _judge(gate: Gate, table: MergedTable, counts: Mapping[str, int]) -> Sequence[Verdict]:
    """Verdicts on what is implied, all of it about nulls, from what was counted."""
    slots = dict(zip((column.name for column in table.columns), table.slots, strict=True))

    def verdict(each: Expectation) -> Verdict:
        live, nulls = counts[_LIVE], counts[_NULLS + slots[each.columns[0]]]
        if each.kind is Kind.NOT_NULL:
            return judge_rows(each, checked=live, broken=nulls)
        return Verdict(expectation=each, checked=live, broken=nulls, outcome=Outcome.HELD)

    return tuple(map(verdict, gate.expectations))


def _count_broken(gate: Gate, rows_df: DataFrame) -> Sequence[Verdict]:
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
