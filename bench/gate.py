"""What the gate in a write costs: W1 with expectations on every table, and without the query that checks them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from bench.contenders import Ours
from bench.race import compare, load, run_rounds
from bench.report import Race
from bench.session import CORES, open_bench_session
from bench.workload import Workload
from spark_jobs.contracts.row_counts import RowCounts
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.expectations import Action, Expectation, Kind
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.tables import ColumnType
from spark_jobs.pipelines.merge.gates import GateOutcome, Gates
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.transforms.keyed_rows import TABLE, MergedTable

AIM = 1.15
_ROWS = "rows"
_RANGES = {
    ColumnType.BIGINT: ("0", "1000000000000"),
    ColumnType.DECIMAL: ("0", "1000000000"),
    ColumnType.TIMESTAMP: ("1990-01-01", "2100-01-01"),
}

_METHOD = f"""\
Workload W1 (see above) by our own code, in one warm session on {CORES} cores; who begins changes from round to round.

* with {{rules}} rules: every column of every table has one (a range, a pattern), and every table a usual mean
  or number of rows; each stops the batch when it is broken, and none is.
* as shipped: what `include/expectations` requires of these tables, and that keys are known.
* without: the gate's query counts the changed rows of each table, which the write needs to know anyway."""


class Ungated(Ours):
    """The same code; each table's changed rows are counted, and not checked."""

    def change_all(self, events_df: DataFrame) -> None:
        with patch.object(Gates, "check", _count):
            super().change_all(events_df)


def measure_gate(settings: Settings, folder: Path, *, warm_ups: int, rounds: int) -> Race:
    """Seconds of a round by each."""
    spark = open_bench_session(settings, folder=folder, with_peers=False)
    shipped = Workload(spec=load_lake_spec(settings.lake_spec))
    rules = tuple(rule for table in shipped.tables for rule in _rules(shipped.spec, table.name))
    strict = Workload(spec=replace(shipped.spec, expectations=rules))
    subject = f"with {len(rules)} rules"
    ways = {subject: (Ours, strict), "as shipped": (Ours, shipped), "without": (Ungated, shipped)}
    contenders = [
        way(name=name, spark=spark, workload=workload, settings=replace(settings, base_path=str(folder / str(number))))
        for number, (name, (way, workload)) in enumerate(ways.items())
    ]
    load(contenders)
    measured = run_rounds(contenders, warm_ups=warm_ups, rounds=rounds)
    return Race(
        title="The gate in a write",
        method=_METHOD.format(rules=len(rules)),
        subject=subject,
        aims={"without": AIM},
        rows_scale=1,
        warm_ups=warm_ups,
        seconds=measured.seconds,
        differing_tables=compare(contenders),
    )


def _rules(spec: LakeSpec, table: str) -> list[Expectation]:
    declared = spec.table(table)
    found = [_rule(spec, table, column) for column in declared.columns]
    rows = Expectation(table=table, name="rows", kind=Kind.ROWS, action=Action.STOP, most="1000000000")
    mean = Expectation(table=table, name="mean", kind=Kind.MEAN, action=Action.STOP, columns=declared.key, least="0")
    return [*found, rows, mean]


def _rule(spec: LakeSpec, table: str, column: str) -> Expectation:
    basis = Expectation(
        table=table,
        name=f"{column}_is_right",
        action=Action.STOP,
        columns=(column,),
        kind=Kind.MATCHES,
        pattern="^[a-z]",
    )
    borders = _RANGES.get(spec.columns_by_name[column].type)
    return replace(basis, kind=Kind.BETWEEN, pattern="", least=borders[0], most=borders[1]) if borders else basis


def _count(_gates: Gates, changed_df: DataFrame, _tables: Sequence[MergedTable]) -> GateOutcome:
    counted = changed_df.groupBy(TABLE).agg(F.count("*").alias(_ROWS)).collect()
    passed = GateOutcome(rows={row[TABLE]: RowCounts(upserted=row[_ROWS]) for row in counted})
    for name, rows in passed.rows.items():
        passed.let_pass(name, rows.total, ())
    return passed
