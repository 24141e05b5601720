"""The gate of one table: its expectations about rows and batches, checked in one aggregate over the rows of a write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from spark_jobs.lake_spec.expectations import BATCH_KINDS, ROW_KINDS, Action, Expectation, Figure, Kind
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.quality.rules import applies, broken
from spark_jobs.quality.verdicts import Outcome, Verdict
from spark_jobs.sql_analysis.expectation_sql import expectations_of

BROKEN_RULES = "broken_rules"
"""Names of the expectations that a record is to be quarantined for."""
_FAILED = {Action.WARN: Outcome.WARNED, Action.QUARANTINE: Outcome.QUARANTINED, Action.STOP: Outcome.STOPPED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Checks expectations on the rows that one write is about to add to a table, and on no others.

    ``prefix`` sets the columns of this gate's aggregates apart from those of others in the same query.
    """

    table: str
    expectations: tuple[Expectation, ...]
    prefix: str = "gate"

    @classmethod
    def of(cls, spec: LakeSpec, table: str) -> Gate:
        """The gate of a table of the lake; ContractError when an expectation of it is wrong."""
        return cls.of_expectations(table, expectations_of(spec, table))

    @classmethod
    def of_expectations(cls, table: str, expectations: Sequence[Expectation]) -> Gate:
        """The gate with those of these expectations that a write can check."""
        checked_here = tuple(each for each in expectations if _is_checked_here(each))
        return cls(table=table, expectations=checked_here, prefix=f"gate_{table}")

    @property
    def sets_aside(self) -> tuple[Expectation, ...]:
        """Those whose rows go to the quarantine."""
        return tuple(each for each in self.expectations if each.action is Action.QUARANTINE)

    def broken_rules(self, schema: StructType) -> Column:
        """Names of the expectations for which a row is to be set aside, in their order; empty for most rows."""
        nothing = F.lit(None).cast("string")
        named = [F.when(broken(each, schema), F.lit(each.name)).otherwise(nothing) for each in self.sets_aside]
        empty = F.array().cast("array<string>")
        return F.filter(F.array(*named), lambda name: name.isNotNull()) if named else empty

    def aggregates(self, schema: StructType, *, of: Column | None = None) -> list[Column]:
        """What has to be known of the batch, as aggregates over its rows; over those for which ``of`` is true alone."""
        among = F.lit(True) if of is None else of
        found = []
        for number, each in enumerate(self.expectations):
            is_checked = among & applies(each)
            if each.usual is Figure.MEAN:  # days are summed up: each counts by what its mean is of
                is_checked = is_checked & F.col(each.columns[0]).isNotNull()
            found.append(F.count_if(is_checked).alias(self._name(number, "checked")))
            if each.kind in ROW_KINDS:
                found.append(F.count_if(among & broken(each, schema)).alias(self._name(number, "broken")))
            elif each.usual is Figure.NULLS:
                is_null = is_checked & F.col(each.columns[0]).isNull()
                found.append(F.count_if(is_null).alias(self._name(number, "broken")))
            elif each.kind is Kind.MEAN or each.usual is Figure.MEAN:
                figure = F.avg(F.when(is_checked, F.col(each.columns[0]).cast("decimal(38,6)")))
                found.append(figure.alias(self._name(number, "figure")))
        return found

    def judge(self, facts: Mapping[str, Any]) -> tuple[Verdict, ...]:
        """A verdict for each expectation, from a row of :meth:`aggregates`."""
        return tuple(self._judge(number, each, facts) for number, each in enumerate(self.expectations))

    def _judge(self, number: int, each: Expectation, facts: Mapping[str, Any]) -> Verdict:
        rows = int(facts[self._name(number, "checked")])
        if each.kind in ROW_KINDS:
            return judge_rows(each, checked=rows, broken=int(facts[self._name(number, "broken")]))
        if each.usual is Figure.NULLS:
            nulls = int(facts[self._name(number, "broken")])
            return Verdict(expectation=each, checked=rows, broken=nulls, outcome=Outcome.HELD)
        value = Decimal(rows) if each.kind is Kind.ROWS else facts[self._name(number, "figure")]
        is_held = value is None or _is_within(value, each) or (each.kind is Kind.MEAN and rows < each.from_rows)
        figure = "" if value is None else f"{value:f}"
        return Verdict(
            expectation=each, checked=rows, broken=0, outcome=outcome_of(each, is_held=is_held), figure=figure
        )

    def _name(self, number: int, what: str) -> str:
        return f"{self.prefix}_{number}_{what}"


def _is_checked_here(each: Expectation) -> bool:
    """What a write is judged by, and figures of it that are to be usual: every commit says how many rows it wrote."""
    return each.kind in ROW_KINDS | BATCH_KINDS or each.usual in (Figure.NULLS, Figure.MEAN)


def judge_rows(each: Expectation, *, checked: int, broken: int) -> Verdict:
    """The verdict on a rule of single rows: ``broken`` of the ``checked`` rows break it."""
    is_set_aside = each.action is Action.QUARANTINE
    is_held = 100 * broken <= each.tolerate_percent * checked or (checked < each.from_rows and not is_set_aside)
    return Verdict(expectation=each, checked=checked, broken=broken, outcome=outcome_of(each, is_held=is_held))


def outcome_of(each: Expectation, *, is_held: bool) -> Outcome:
    """The outcome of an expectation that holds, or does not."""
    return Outcome.HELD if is_held else _FAILED[each.action]


def _is_within(value: Decimal, expectation: Expectation) -> bool:
    is_enough = expectation.least is None or value >= Decimal(expectation.least)
    return is_enough and (expectation.most is None or value <= Decimal(expectation.most))
