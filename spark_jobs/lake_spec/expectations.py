"""Expectations: what must be true of a table's rows, and what happens when it is not. Each is an entry, not code.

They come from files beside the lake spec (:mod:`spark_jobs.spec_files.expectation_file`) and from the spec itself
(:func:`implied`). The gate checks those about single rows and about a batch while rows are written, on the new rows
alone; ``validate`` checks whole tables after their commits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from spark_jobs.contracts.errors import ContractError, raise_all
from spark_jobs.contracts.identifiers import wrong_identifier
from spark_jobs.contracts.names import plain, show, show_all

_MOST_WORDS = 255


class Action(StrEnum):
    """What happens with rows that break an expectation."""

    WARN = "warn"
    """They are written and counted."""
    QUARANTINE = "quarantine"
    """They are kept in the quarantine with the expectation's name, the rest is written. Of the log's records alone."""
    STOP = "stop"
    """Nothing of the batch is written, readers keep what they have, the job fails until a person or the source acts."""


class Kind(StrEnum):
    """What is checked; the value is the word that an entry has for it."""

    NOT_NULL = "not_null"
    BETWEEN = "between"
    ONE_OF = "one_of"
    MATCHES = "matches"
    HOLDS = "holds"
    ROWS = "rows"
    MEAN = "mean"
    UNIQUE = "unique"
    REFERS_TO = "refers_to"
    USUAL = "usual"


ROW_KINDS = frozenset({Kind.NOT_NULL, Kind.BETWEEN, Kind.ONE_OF, Kind.MATCHES, Kind.HOLDS})
"""Checked for each row on its own."""
BATCH_KINDS = frozenset({Kind.ROWS, Kind.MEAN})
"""Checked for all rows of a batch together, in one aggregate."""
WHOLE_KINDS = frozenset({Kind.UNIQUE, Kind.REFERS_TO})
"""Checked for whole tables, after their commit: they need rows outside the batch."""
HISTORY_KINDS = frozenset({Kind.USUAL})
"""Checked for the newest whole day of a table, against the days before it."""
_RANGED = frozenset({Kind.BETWEEN, Kind.ROWS, Kind.MEAN})
_WITHOUT_COLUMN = frozenset({Kind.HOLDS, Kind.ROWS})


class Figure(StrEnum):
    """Of what the history is looked at, day by day."""

    ROWS = "rows"
    """How many rows were written."""
    NULLS = "nulls"
    """The share of the rows that were written in which the column is null."""
    MEAN = "mean"
    """The mean of the column in the rows that were written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """One expectation of a table.

    A value that is null breaks nothing but ``not_null``: null is *not known*. ``least``, ``most`` and ``values`` are
    texts of the column's type, or numbers of rows. ``condition`` and ``where`` are SQL over one row, in words that
    Spark and Trino write alike; rows for which ``where`` is not true are not checked. Up to ``tolerate_percent`` of the
    checked rows may break it before ``warn`` or ``stop`` is done; a batch of fewer than ``from_rows`` checked rows is
    too small to judge.
    """

    table: str
    name: str
    kind: Kind
    action: Action = Action.WARN
    says: str = ""
    columns: tuple[str, ...] = ()
    least: str | None = None
    most: str | None = None
    values: tuple[str, ...] = ()
    pattern: str = ""
    condition: str = ""
    refers_to: str = ""
    """``table.column`` among whose values each value has to be."""
    usual: Figure | None = None
    where: str = ""
    tolerate_percent: Decimal = Decimal(0)
    from_rows: int = 1
    is_implied: bool = False
    """Of the lake spec, not of a file."""

    def __post_init__(self) -> None:
        raise_all(self._mistakes())

    def _mistakes(self) -> Iterator[ContractError]:
        """What contradicts itself; places are the words of an entry."""
        yield from wrong_identifier(self.name, f"{self.table}: expectation")
        if not self.says.isprintable() or len(self.says) > _MOST_WORDS:
            yield self._refused(f"says is {show(self.says)}; give one line of at most {_MOST_WORDS} characters", "says")
        yield from self._mistakes_of_kind(len(self.columns))
        yield from self._mistakes_of_numbers()

    @property
    def id(self) -> str:
        """What it is called among all expectations."""
        return f"{self.table}.{self.name}"

    @property
    def expected(self) -> str:
        """What is expected, for people: ``contract_subtotal between 0 and 1000``."""
        text = f"{', '.join(self.columns)} {self._what()}".strip()
        text += f" where {self.where}" if self.where else ""
        return f"{text}, but for {self.tolerate_percent}%" if self.tolerate_percent else text

    def _mistakes_of_kind(self, count: int) -> Iterator[ContractError]:
        kind = self.kind.value
        is_without = self.kind in _WITHOUT_COLUMN or self.usual is Figure.ROWS
        if is_without and count:
            yield self._refused(f"{self.usual or kind} is about whole rows; take column out", "column")
        if self.kind is Kind.UNIQUE and not count:
            yield self._refused("unique needs the columns that are unique together; add columns: [name, …]", kind)
        if not is_without and self.kind is not Kind.UNIQUE and count != 1:
            yield self._refused(f"{kind} needs the one column that it is about; give column: name", kind)
        if self.kind in _RANGED and self.least is None and self.most is None:
            yield self._refused(f"{kind} needs [least, most], one of them may be null; give one", kind)
        if self.action is Action.QUARANTINE and self.kind not in ROW_KINDS:
            yield self._refused(
                f"{kind} is no rule of single rows, so none can be quarantined; use warn or stop", "action"
            )

    def _mistakes_of_numbers(self) -> Iterator[ContractError]:
        field = "tolerate_percent"
        if not 0 <= self.tolerate_percent < 100:
            yield self._refused(f"{field} is {self.tolerate_percent}; give 0 or more, below 100", field)
        if self.tolerate_percent and (self.kind in BATCH_KINDS | HISTORY_KINDS or self.action is Action.QUARANTINE):
            yield self._refused(f"{field} is for rules of single rows with warn or stop; take it out", field)
        if self.from_rows < 1:
            yield self._refused(f"from_rows is {self.from_rows}; give 1 or more", "from_rows")

    def _what(self) -> str:
        if self.kind in _RANGED:
            return {Kind.BETWEEN: "", Kind.ROWS: "rows ", Kind.MEAN: "mean "}[self.kind] + _range(self.least, self.most)
        texts = {
            Kind.NOT_NULL: "not null",
            Kind.ONE_OF: f"one of {', '.join(self.values)}",
            Kind.MATCHES: f"matches {self.pattern}",
            Kind.HOLDS: " ".join(self.condition.split()),
            Kind.UNIQUE: "unique",
            Kind.REFERS_TO: f"refers to {self.refers_to}",
            Kind.USUAL: f"{self.usual} as usual",
        }
        return texts[self.kind]

    def _refused(self, reason: str, word: str) -> ContractError:
        return ContractError(f"expectation {self.table}.{plain(self.name)}: {reason}", at=(word,))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineLimit:
    """How much of a batch may be unusable or quarantined before nothing of it is ingested."""

    most_percent: int = 100
    from_records: int = 100

    def __post_init__(self) -> None:
        raise_all(self._mistakes())

    def _mistakes(self) -> Iterator[ContractError]:
        if not 0 <= self.most_percent <= 100:
            yield ContractError(
                f"quarantine_limit: most_percent {self.most_percent} must be 0 to 100; correct it", at=("most_percent",)
            )
        if self.from_records < 1:
            yield ContractError(
                f"quarantine_limit: from_records {self.from_records} must be at least 1; correct it",
                at=("from_records",),
            )

    def expectation(self, log: str) -> Expectation | None:
        """The same as an expectation of the log, over records as they are delivered; None when there is no limit."""
        if self.most_percent == 100:
            return None
        return Expectation(
            table=log,
            name="records_can_be_used",
            kind=Kind.HOLDS,
            action=Action.STOP,
            says="Most of what is delivered can be used.",
            condition="reason IS NULL",
            tolerate_percent=Decimal(self.most_percent),
            from_rows=self.from_records,
            is_implied=True,
        )


def check_names(expectations: Collection[Expectation]) -> None:
    """Raise ContractError when a table has two of one name."""
    raise_all(names_twice(expectations))


def names_twice(expectations: Collection[Expectation]) -> Iterator[ContractError]:
    """What :func:`check_names` raises, for those who collect."""
    ids = [each.id for each in expectations]
    for each in expectations:
        if ids.count(each.id) > 1 and not each.is_implied:
            yield ContractError(
                f"expectations {show_all([each.id])} are there twice; rename one",
                at=("expectations", each.table, each.name),
            )


def _range(least: str | None, most: str | None) -> str:
    if least is None:
        return f"at most {most}"
    return f"at least {least}" if most is None else f"between {least} and {most}"
