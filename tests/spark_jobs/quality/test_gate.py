"""The gate on random batches, against plain Python: which rows break which rule, and what becomes of the batch.

A batch has a few rows of ``sales`` with nulls, amounts on and around the borders, and a gate of one expectation of each
kind, with random borders, actions, conditions and tolerances.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.lake_spec.expectations import Action, Expectation, Kind
from spark_jobs.quality.gate import Gate
from spark_jobs.quality.verdicts import Outcome

pytestmark = pytest.mark.spark

SCHEMA = "n bigint, sale_id bigint, unit_id bigint, name string, amount decimal(18,4), signed timestamp"
COLUMNS = ("sale_id", "unit_id", "name", "amount", "signed")
DAYS = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3)]
Row = dict[str, Any]

rows = st.lists(
    st.fixed_dictionaries(
        {
            "sale_id": st.integers(0, 5),
            "unit_id": st.none() | st.integers(-1, 3),
            "name": st.sampled_from([None, "", "Ann", "Bo\nb", "O'Neil", "\\d"]),
            "amount": st.none() | st.integers(-2, 4).map(lambda n: Decimal(n) / 2),
            "signed": st.none() | st.sampled_from(DAYS),
        }
    ),
    max_size=12,
)
CONDITIONS = {
    "unit_id > 0": lambda row: None if row["unit_id"] is None else row["unit_id"] > 0,
    "signed IS NOT NULL": lambda row: row["signed"] is not None,
    "amount IS NOT NULL OR signed IS NULL": lambda row: row["amount"] is not None or row["signed"] is None,
}
borders = st.tuples(st.none() | st.integers(-2, 4), st.none() | st.integers(-2, 4)).filter(lambda b: b != (None, None))
shares = st.sampled_from([Decimal(0), Decimal("12.5"), Decimal(50)])


@st.composite
def expectations(draw: st.DrawFn) -> tuple[Expectation, ...]:
    def one(kind: Kind, **fields: Any) -> Expectation:
        actions = list(Action) if kind not in (Kind.ROWS, Kind.MEAN) else [Action.WARN, Action.STOP]
        action = draw(st.sampled_from(actions))
        if kind not in (Kind.ROWS, Kind.MEAN) and action is not Action.QUARANTINE:
            fields["tolerate_percent"] = draw(shares)
        where = draw(st.sampled_from(["", *CONDITIONS]))
        name = f"{kind.value}_{len(made)}"
        return Expectation(
            table="sales", name=name, kind=kind, action=action, where=where, from_rows=draw(st.integers(1, 4)), **fields
        )

    made: list[Expectation] = []
    least, most = (None if border is None else str(border) for border in draw(borders))
    made.append(one(Kind.NOT_NULL, columns=(draw(st.sampled_from(["unit_id", "name", "signed"])),)))
    made.append(one(Kind.BETWEEN, columns=("amount",), least=least, most=most))
    made.append(one(Kind.BETWEEN, columns=("signed",), least="2026-01-02", most=None))
    made.append(one(Kind.ONE_OF, columns=("unit_id",), values=("1", "2")))
    made.append(one(Kind.ONE_OF, columns=("name",), values=("O'Neil", "\\d", "")))
    made.append(one(Kind.MATCHES, columns=("name",), pattern=r"^[A-Z]\w+$|\\"))
    made.append(one(Kind.HOLDS, condition=draw(st.sampled_from([*CONDITIONS]))))
    made.append(one(Kind.ROWS, least=least, most=most))
    made.append(one(Kind.MEAN, columns=("amount",), least=least, most=most))
    return tuple(made)


def applies(each: Expectation, row: Row) -> bool:
    return not each.where or CONDITIONS[each.where](row) is True


def breaks(each: Expectation, row: Row) -> bool:
    """What the expectation's words mean, of one row."""
    if each.kind is Kind.HOLDS:
        return CONDITIONS[each.condition](row) is False
    value = row[each.columns[0]]
    if each.kind is Kind.NOT_NULL or value is None:
        return value is None and each.kind is Kind.NOT_NULL
    if each.kind is Kind.ONE_OF:
        return str(value) not in each.values
    if each.kind is Kind.MATCHES:
        return re.search(each.pattern.replace("$", r"\Z"), value) is None
    if each.columns == ("signed",):
        return value < DAYS[1]
    return not within(value, each)


def within(value: Decimal, each: Expectation) -> bool:
    return Decimal(each.least or -10) <= value <= Decimal(each.most or 10)


def expected_outcome(each: Expectation, batch: list[Row]) -> Outcome:
    checked = [row for row in batch if applies(each, row)]
    if each.kind is Kind.ROWS:
        is_held = within(Decimal(len(checked)), each)
    elif each.kind is Kind.MEAN:
        amounts = [row["amount"] for row in checked if row["amount"] is not None]
        is_held = len(checked) < each.from_rows or not amounts or within(sum(amounts) / len(amounts), each)
    else:
        broken = sum(breaks(each, row) for row in checked)
        is_small = len(checked) < each.from_rows and each.action is not Action.QUARANTINE
        is_held = is_small or broken * 100 <= each.tolerate_percent * len(checked)
    failed = {Action.WARN: Outcome.WARNED, Action.QUARANTINE: Outcome.QUARANTINED, Action.STOP: Outcome.STOPPED}
    return Outcome.HELD if is_held else failed[each.action]


@hypothesis_settings(max_examples=15)
@given(batch=rows, declared=expectations())
def test_the_gate_says_what_the_words_say(spark: SparkSession, batch: list[Row], declared: tuple[Expectation, ...]):
    gate = Gate(table="sales", expectations=declared)
    rows_df = spark.createDataFrame([(n, *(row[name] for name in COLUMNS)) for n, row in enumerate(batch)], SCHEMA)
    (facts,) = rows_df.agg(*gate.aggregates(rows_df.schema)).collect()
    verdicts = gate.judge(facts.asDict())
    assert [v.outcome for v in verdicts] == [expected_outcome(each, batch) for each in declared]
    for verdict in verdicts:
        each = verdict.expectation
        mine = [row for row in batch if applies(each, row)]
        assert verdict.checked == len(mine)
        if each.kind not in (Kind.ROWS, Kind.MEAN):
            assert verdict.broken == sum(breaks(each, row) for row in mine)
    aside = {
        row["n"]: row["rules"]
        for row in rows_df.select("n", gate.broken_rules(rows_df.schema).alias("rules")).collect()
    }
    for number, row in enumerate(batch):
        names = [e.name for e in declared if e.action is Action.QUARANTINE and applies(e, row) and breaks(e, row)]
        assert aside[number] == names


def test_rows_outside_are_not_checked(spark: SparkSession):
    each = Expectation(table="sales", name="is_known", kind=Kind.NOT_NULL, columns=("name",))
    rows_df = spark.createDataFrame([("a", True), (None, False), (None, True)], "name string, is_live boolean")
    gate = Gate(table="sales", expectations=(each,))
    (facts,) = rows_df.agg(*gate.aggregates(rows_df.schema, of=F.col("is_live"))).collect()
    (verdict,) = gate.judge(facts.asDict())
    assert (verdict.checked, verdict.broken, verdict.outcome) == (2, 1, Outcome.WARNED)
    assert verdict.summary == "is_known (name not null): 1 of 2 rows broke it"
