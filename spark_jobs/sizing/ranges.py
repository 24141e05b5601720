"""The files of a table in ranges of its key, day by day: each range is written as long as events name its keys."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from spark_jobs.lake_spec.services import ServiceTargets
from spark_jobs.sizing.files import MB, GroupFiles
from spark_jobs.sizing.load import Load, TableLoad, distinct
from spark_jobs.sizing.simulation import BUCKET_MB, days_of, history_of
from spark_jobs.sizing.weights import TableWeight

MOST_RANGES = 40
"""On advice, on the last day: a month or so of keys in each after three years."""
FRESH_MINUTES, FRESH_MOST = 600, 10_080
"""``compact_minutes`` and ``compact_most_minutes`` on advice: the older a range, the fewer events name its keys, and
the more does the part of its log files decide when it is compacted."""


def ranged_targets(shipped: ServiceTargets, load: Load) -> ServiceTargets:
    """Of a table in ranges: larger file groups, which are seldom compacted for their age alone."""
    return replace(
        shipped,
        bucket_mb=max(shipped.bucket_mb, BUCKET_MB),
        compact_minutes=FRESH_MINUTES,
        compact_most_minutes=FRESH_MOST,
        compact_log_files=max(shipped.compact_log_files, ceil(FRESH_MOST / load.batch_minutes)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranges:
    """How a table is cut: days of new keys that a range has, and its buckets."""

    days: int
    buckets: int

    @classmethod
    def advised(cls, table: TableLoad, targets: ServiceTargets) -> Ranges:
        """As many buckets as the keys of a range fill half, by the size at which rescale is due."""
        days = ceil(table.day / MOST_RANGES)
        of_range = table.bytes / table.day * days
        return cls(days=days, buckets=max(1, ceil(of_range / (targets.bucket_mb * MB / 2))))

    def count(self, day: int) -> int:
        """Ranges that there are on a day."""
        return ceil(day / self.days)

    def width(self, table: TableLoad) -> int:
        """Keys of a range, as the lake spec calls it; up to two digits and zeros."""
        keys = ceil(table.rows / table.day * self.days)
        step = 10 ** max(0, len(str(keys)) - 2)
        return ceil(keys / step) * step

    def rows(self, table: TableLoad) -> list[float]:
        """Rows that one batch of the day writes to each range, from the oldest on; new keys are in the last."""
        found = [0.0] * self.count(table.day)
        for age, rows in enumerate(table.changed_by_age):
            found[(table.day - age - 1) // self.days] += rows
        found[-1] += table.new_rows
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RangedOutcome:
    """A table in ranges at the end of a day; ``written`` is in bytes, services included."""

    groups: int
    touched: float
    """File groups that a commit writes a log file to."""
    touched_ranges: float
    """That a commit lists and writes to."""
    log_files: float
    """Over the base file that has most of them that day."""
    live_files: float
    """That a reader of all of it opens, at most that day."""
    newest_files: float
    """The same of the newest range alone."""
    most_files: float
    """In a listing of all ranges, on any day so far."""
    bytes: float
    written: float
    written_so_far: float


def merged_share(buckets: int, rows: float, commits: int) -> float:
    """What part of a range's file groups has a log file after so many commits of ``rows`` each: these are merged."""
    return distinct(buckets, rows * commits) / buckets


def simulate_ranges(
    load: Load, weight: TableWeight, targets: ServiceTargets, ranges: Ranges, day: int
) -> RangedOutcome:
    """A table in ranges from its first day on, as it is at the end of ``day``.

    A commit that begins a range writes base files there, any other one a log file to each file group that it touches.
    """
    history, parts = history_of(load, targets), list[GroupFiles]()
    before = log_files = live_files = newest_files = 0.0
    for each, looks in days_of(load, day):
        table = load.table(weight, day=each)
        rows = ranges.rows(table)
        if each == day:
            before, log_files, live_files, newest_files = history.written, 0.0, 0.0, 0.0
        for commits in looks:
            history.commit(commits, 0)
            for number, of_range in enumerate(rows):
                new, of_part = (table.new_bytes if number == len(rows) - 1 else 0.0), commits
                if number == len(parts):
                    parts.append(GroupFiles(count=ranges.buckets, part=1, base=new))
                    history.written += new
                    of_part -= 1
                logs = of_range * weight.log_row_bytes
                parts[number].write(of_part, touched=distinct(ranges.buckets, of_range), new=new, logs=logs)
                history.written += of_part * logs
            log_files = max(log_files, *(part.log_files for part in parts))
            live_files = max(live_files, sum(part.live_files for part in parts))
            newest_files = max(newest_files, parts[-1].live_files)
            if due := [n for n, part in enumerate(parts) if part.is_due(targets, load.batch_minutes)]:
                replaced = written = 0.0
                for number in due:
                    part, share = parts[number], merged_share(ranges.buckets, rows[number], parts[number].lacking)
                    replaced += part.count * (share + part.log_files)
                    part.merge()
                    written += part.base * share
                history.replace(replaced, written)
            listed = sum(part.live_files for part in parts) + history.retired_files
            history.most_files = max(history.most_files, listed)
            history.clean()
            history.archive()
    touched = [distinct(ranges.buckets, each) for each in rows]
    return RangedOutcome(
        groups=ranges.buckets * len(parts),
        touched=sum(touched),
        touched_ranges=sum(min(1.0, each) for each in touched),
        log_files=log_files,
        live_files=live_files,
        newest_files=newest_files,
        most_files=history.most_files,
        bytes=sum(part.base + part.logs for part in parts),
        written=history.written - before,
        written_so_far=history.written,
    )
