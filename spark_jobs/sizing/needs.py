"""What a load needs of engine and storage on a day: one formula a property, each explained in docs/sizing.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from spark_jobs.sizing.files import MB
from spark_jobs.sizing.load import GB, Load
from spark_jobs.sizing.simulation import Outcome

BUSY = 0.5
"""Share of the interval in which a peak batch is to be done: the rest is for services, retries and growth."""
WRITE_SHARE = 0.25
"""Share of the interval in which a batch's files are written."""
PUTS_A_FILE = 2
"""A marker and the file."""
CORES, CORE_GB = 4, 2
"""Of an executor, and memory of each core."""
TARGET_FILE = 128 * MB
SEGMENT = 256 * MB
"""Of a file of the row index."""
SPLIT = 128 * MB
"""Of Trino's Hudi connector: a file is a split, a larger one several."""


@dataclass(frozen=True, kw_only=True)
class Needs:
    """On the day that ``outcomes`` are of; ``largest`` is the table that has most bytes, the log left out."""

    load: Load
    outcomes: Sequence[Outcome]
    log: Outcome
    largest: Outcome

    @classmethod
    def of(cls, load: Load, outcomes: Sequence[Outcome], log: str) -> Needs:
        """From the log and the tables at the end of one day."""
        keyed = [outcome for outcome in outcomes if outcome.table != log]
        found = next(outcome for outcome in outcomes if outcome.table == log)
        return cls(load=load, outcomes=outcomes, log=found, largest=max(keyed, key=lambda each: each.bytes))

    @property
    def max_events(self) -> int:
        """LAKEHOUSE_MAX_EVENTS: the busiest batch, up to the next round number; never below what is shipped."""
        step = 10 ** (len(str(int(self.load.peak_events))) - 1)
        return max(200_000, ceil(self.load.peak_events / step) * step)

    @property
    def max_pull_mb(self) -> int:
        """LAKEHOUSE_MAX_PULL_MB: two of the busiest batches."""
        return max(1024, ceil(2 * self.load.peak_events * self.load.weights.log / MB))

    @property
    def events(self) -> float:
        """All that came in so far."""
        return self.load.events_a_day * self.log.day

    @property
    def index_gb(self) -> float:
        """Of the row index, of which a split reads what may hold its keys."""
        return self.load.weights.index * self.events / GB

    @property
    def index_files(self) -> float:
        """Segments of the row index, which are listed before each split."""
        return self.index_gb * GB / SEGMENT

    @property
    def batch_cores(self) -> int:
        """For ingest and split of the busiest batch."""
        weights = self.load.weights
        an_event = weights.ingest_event + weights.split_event
        seconds = weights.ingest_run + weights.split_run + self.load.peak_events * an_event
        return max(2, ceil(seconds / (BUSY * self.load.batch_seconds)))

    @property
    def service_cores(self) -> int:
        """For compaction and clustering, all day."""
        weights = self.load.weights
        seconds = sum(
            each.written * (weights.clustering_byte if each is self.log else weights.compaction_byte)
            for each in self.outcomes
        )
        return ceil(seconds / (BUSY * 86_400))

    @property
    def executors(self) -> int:
        return ceil((self.batch_cores + self.service_cores) / CORES)

    @property
    def puts_a_second(self) -> float:
        """To the folder of the largest table while a batch is written."""
        return PUTS_A_FILE * self.largest.files_a_commit / (WRITE_SHARE * self.load.batch_seconds)

    @property
    def log_splits_a_day(self) -> int:
        """Of a query in Trino over one day of the log."""
        return ceil(self.load.events_a_day * self.load.weights.log / SPLIT)

    @property
    def table_splits(self) -> int:
        """Of a query in Trino over the largest table."""
        return self.largest.groups * max(1, ceil(self.largest.bytes / self.largest.groups / SPLIT))

    @property
    def bytes_a_merge(self) -> float:
        """That a compaction of all file groups of the largest table writes."""
        return self.largest.bytes

    @property
    def written(self) -> float:
        """Bytes a day, services included, by what landed."""
        return sum(each.written for each in self.outcomes) / (self.load.gb_per_day * GB)

    @property
    def written_so_far(self) -> float:
        """The same of all days up to this one."""
        return sum(each.written_so_far for each in self.outcomes) / (self.log.day * self.load.gb_per_day * GB)
