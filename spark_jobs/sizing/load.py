"""The arithmetic of a load: events, batches, the rows and file groups that a batch touches; nothing is simulated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import expm1, inf, log1p

from spark_jobs.contracts.errors import ContractError
from spark_jobs.sizing.weights import TableWeight, Weights

GB = 1_000_000_000
DAY_MINUTES = 1440


def distinct(places: float, draws: float) -> float:
    """How many different ones of ``places`` are expected among so many draws, each as likely as the others."""
    if places <= 1:
        return min(places, draws)
    return min(-places * expm1(draws * log1p(-1 / places)), draws)


@dataclass(frozen=True, kw_only=True)
class Load:
    """What comes in: ``gb_per_day`` of landing files (plain JSON), ingested every ``batch_minutes``.

    ``peak`` is the busiest batch by the mean one. Of the events that are no new key's, one about a key of the age of a
    days is as likely as (a + 1) to the power of -``skew`` (Zipf).
    """

    gb_per_day: float
    weights: Weights
    batch_minutes: int = 5
    peak: float = 3.0
    skew: float = 1.5

    def __post_init__(self) -> None:
        if not 0 < self.gb_per_day < inf or not 1 <= self.batch_minutes <= DAY_MINUTES:
            raise ContractError("sizing needs more than 0 GB a day, in batches of 1 to 1440 minutes")
        if not 1 <= self.peak < inf or not 0 <= self.skew < inf:
            raise ContractError("sizing needs a peak of at least 1, and a skew of at least 0")

    @property
    def events_a_day(self) -> float:
        return self.gb_per_day * GB / self.weights.landing

    @property
    def batches_a_day(self) -> float:
        return DAY_MINUTES / self.batch_minutes

    @property
    def batch_seconds(self) -> float:
        return self.batch_minutes * 60.0

    @property
    def batch_events(self) -> float:
        """Of a mean batch."""
        return self.events_a_day / self.batches_a_day

    @property
    def peak_events(self) -> float:
        """Of the busiest batch."""
        return self.batch_events * self.peak

    def table(self, weight: TableWeight, *, day: int) -> TableLoad:
        """A table after so many days."""
        return TableLoad(load=self, weight=weight, day=day)


@dataclass(frozen=True, kw_only=True)
class TableLoad:
    """An entity table on a day counted from 1, which grew evenly up to then."""

    load: Load
    weight: TableWeight
    day: int

    @property
    def rows(self) -> float:
        return self._rows_a_day * self.day

    @property
    def bytes(self) -> float:
        """In base files."""
        return self.rows * self.weight.row_bytes

    @property
    def new_rows(self) -> float:
        """Of a mean batch."""
        return self._rows_a_day / self.load.batches_a_day

    @property
    def new_bytes(self) -> float:
        """They come to in base files."""
        return self.new_rows * self.weight.row_bytes

    @cached_property
    def changed_by_age(self) -> tuple[float, ...]:
        """Rows of one batch that existed before, by the age of their key in days.

        A key that many events name is one row: split folds them before it writes.
        """
        old = max(self.load.batch_events - self.new_rows, 0)
        likely = [(age + 1) ** -self.load.skew for age in range(self.day)]
        total = sum(likely)
        return tuple(distinct(self._rows_a_day, old * each / total) for each in likely)

    @cached_property
    def changed_rows(self) -> float:
        """Rows that one batch writes."""
        return self.new_rows + sum(self.changed_by_age)

    @property
    def log_bytes(self) -> float:
        """They come to in log files."""
        return self.changed_rows * self.weight.log_row_bytes

    def touched(self, buckets: int) -> float:
        """File groups of the unpartitioned table that one batch writes to: a log file each."""
        return distinct(buckets, self.changed_rows)

    @property
    def _rows_a_day(self) -> float:
        return self.load.events_a_day * self.weight.new_rows
