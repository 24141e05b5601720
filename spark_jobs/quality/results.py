"""Results as rows: what was expected of which state of a table, what was seen, and the outcome."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from spark_jobs.contracts.instants import Instant
from spark_jobs.lake_spec.expectations import Action, Expectation
from spark_jobs.quality.holds import Hold
from spark_jobs.quality.verdicts import Outcome, Verdict, observed_of

BALANCED = "every_record_is_accounted_for"
"""Of a commit that took records in: those read are those written, set aside, or known."""
WRITTEN = "rows_written"
"""Of every commit: how many rows it wrote."""


class Stage(StrEnum):
    """When it was checked."""

    GATE = "gate"
    """Before the commit, of the rows it was about to add; ``instant`` is the commit."""
    INCREMENT = "increment"
    """After commits, of the rows that came since the last check; ``instant`` is the newest of them."""
    WHOLE = "whole"
    """Of the whole table, as of ``instant``."""
    HISTORY = "history"
    """Of a day's figure, by the days before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultPlace:
    """What a result is about: a state of a table, on a day of the lake's time zone.

    ``instant`` is empty for a batch that no commit has; ``about`` tells results apart that have none of their own.
    """

    table: str
    instant: Instant
    day: str
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityResult:
    """One row of the table of results, but for the run."""

    place: ResultPlace
    stage: Stage
    expectation: str
    observed: str
    outcome: Outcome
    expected: str = ""
    action: str = ""
    checked: int = 0
    broken: int = 0
    figure: Decimal | None = None

    @property
    def key(self) -> str:
        """The same for the same expectation on the same thing, whenever and however often it is checked."""
        place = self.place
        return f"{place.table}/{self.stage}/{place.about or place.instant}/{self.expectation}"


def result_of(verdict: Verdict, place: ResultPlace, stage: Stage, *, figure: Decimal | None = None) -> QualityResult:
    """A verdict as a row."""
    each = verdict.expectation
    return QualityResult(
        place=place,
        stage=stage,
        expectation=each.name,
        expected=each.expected,
        action=each.action.value,
        observed=verdict.observed,
        checked=verdict.checked,
        broken=verdict.broken,
        figure=figure,
        outcome=verdict.outcome,
    )


def results_of_commit(
    stored: str, place: ResultPlace, expectations: Mapping[str, Expectation]
) -> Iterator[QualityResult]:
    """What a commit says of its gate (:func:`spark_jobs.quality.verdicts.to_metadata`).

    Of an expectation that is declared no more there is its name, and what was seen.
    """
    content = json.loads(stored)
    rows: dict[str, int] = content["rows"]
    yield _written(rows["written"], place)
    if "read" in rows:
        yield _balance(rows, place)
    for name, checked, broken, outcome, figure, _ in content["rules"]:
        each = expectations.get(name)
        yield QualityResult(
            place=place,
            stage=Stage.GATE,
            expectation=name,
            expected=each.expected if each else "",
            action=each.action.value if each else "",
            observed=observed_of(checked, broken, figure),
            checked=checked,
            broken=broken,
            figure=Decimal(figure) if figure else None,
            outcome=Outcome(outcome),
        )


def results_of_hold(hold: Hold, place: ResultPlace, expectations: Mapping[str, Expectation]) -> Iterator[QualityResult]:
    """A batch that a gate kept out: no commit says so."""
    for name, summary in zip(hold.expectations, hold.reasons, strict=True):
        each = expectations.get(name)
        yield QualityResult(
            place=place,
            stage=Stage.GATE,
            expectation=name,
            expected=each.expected if each else "",
            action=Action.STOP.value,
            observed=summary,
            outcome=Outcome.STOPPED,
        )


def _written(rows: int, place: ResultPlace) -> QualityResult:
    return QualityResult(
        place=place,
        stage=Stage.GATE,
        expectation=WRITTEN,
        observed=f"{rows:,} rows",
        checked=rows,
        figure=Decimal(rows),
        outcome=Outcome.HELD,
    )


def _balance(rows: Mapping[str, int], place: ResultPlace) -> QualityResult:
    read, others = rows["read"], {what: count for what, count in rows.items() if what != "read"}
    return QualityResult(
        place=place,
        stage=Stage.GATE,
        expectation=BALANCED,
        expected=f"read = {' + '.join(others)}",
        action=Action.STOP.value,
        observed=f"{read:,} = {' + '.join(f'{count:,}' for count in others.values())}",
        checked=read,
        outcome=Outcome.HELD if sum(others.values()) == read else Outcome.STOPPED,
    )
