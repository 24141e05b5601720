"""Where the design, the storage or the engine comes to an end, and what to do then."""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.sizing.files import MB
from spark_jobs.sizing.load import GB
from spark_jobs.sizing.needs import Needs
from spark_jobs.sizing.simulation import Outcome

GROUP_MB = 1024
LISTED, LISTED_LOG = 10_000, 100_000
"""Files of a table in one folder, and in all of the log's."""
GROUPS = 10_000
PUTS = 3_500
"""AWS: PUT, COPY, POST and DELETE a second for each prefix of a bucket."""
COMMITS = 1_000
WRITTEN = 15.0
PAGE = 1_000
"""Names in the answer to one LIST request."""


def warnings(needs: Needs) -> Iterator[str]:
    """A sentence for each limit that is passed on this day."""
    for outcome in needs.outcomes:
        yield from _of_table(outcome, needs)
    if needs.puts_a_second > PUTS:
        yield (
            f"{needs.largest.table}: {needs.puts_a_second:,.0f} PUT/s to one prefix while a batch is written, "
            f"S3 takes {PUTS:,}: longer batches, fewer buckets, or ranges of its key"
        )
    if needs.index_files > LISTED:
        yield (
            f"row index: {needs.index_gb:,.0f} GB in {needs.index_files:,.0f} files, which one manifest names: several "
            f"lakes, each with a part of the keys"
        )


def _of_table(outcome: Outcome, needs: Needs) -> Iterator[str]:
    name, is_log = outcome.table, outcome is needs.log
    if outcome.largest_group > GROUP_MB * MB:
        yield (
            f"{name}: the largest file group has {outcome.largest_group / MB:,.0f} MB, and a task reads and compacts a "
            f"whole one: more buckets, or a number that spreads evenly"
        )
    if outcome.most_files > (LISTED_LOG if is_log else LISTED):
        then = (
            "old days moved to a log of their own" if is_log else "longer batches, fewer kept hours, or ranges of keys"
        )
        count, requests = outcome.most_files, outcome.most_files / PAGE
        yield f"{name}: {count:,.0f} files, listed by every plan in {requests:,.0f} requests: {then}"
    if outcome.groups > GROUPS and not is_log:
        yield f"{name}: {outcome.groups:,} buckets without a partition, each a log file a batch: ranges of its key"
    if outcome.commits > COMMITS:
        yield f"{name}: {outcome.commits:,} commits on the timeline: lower archive_commits, or a consumer holds it"
    if (times := outcome.written / (needs.load.gb_per_day * GB)) > WRITTEN:
        yield (
            f"{name}: {times:,.0f} times what landed is written, by {outcome.merges_a_day:.0f} compactions that day: "
            f"raise compact_most_minutes, and compact_log_files with it"
        )
