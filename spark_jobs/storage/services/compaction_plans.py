"""Which file groups Hudi takes into the plan of a compaction: by its strategies, since it takes no list of groups."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from spark_jobs.storage.options import Hudi
from spark_jobs.storage.services.state import UnmergedGroup

_STRATEGIES = "org.apache.hudi.table.action.compact.strategy"
_UNBOUNDED: Mapping[Hudi, str] = {
    # By default Hudi plans nothing before five commits since the last compaction. That one may have been of other
    # groups, and no commit may follow: the product's own targets decide.
    Hudi.COMPACT_AFTER: "0",
    # By default a plan ends at 500 GB.
    Hudi.COMPACTION_MOST_MB: str(2**40),
    # By default Hudi looks at partitions that were written since the last plan, and at those that it then noted.
    Hudi.INCREMENTAL_SERVICES: "false",
}


def _by_bytes(least: int) -> dict[Hudi, str]:
    strategy = f"{_STRATEGIES}.LogFileSizeBasedCompactionStrategy"
    return {**_UNBOUNDED, Hudi.COMPACTION_STRATEGY: strategy, Hudi.COMPACTION_LOG_BYTES: str(least)}


def _by_number(least: int) -> dict[Hudi, str]:
    strategy = f"{_STRATEGIES}.LogFileNumBasedCompactionStrategy"
    return {**_UNBOUNDED, Hudi.COMPACTION_STRATEGY: strategy, Hudi.COMPACTION_LOG_FILES: str(least)}


def _by_partition(partitions: Collection[str]) -> dict[Hudi, str]:
    strategy = f"{_STRATEGIES}.PartitionRegexBasedCompactionStrategy"
    regex = (
        f"^({'|'.join(re.escape(each).replace('=', '.') for each in sorted(partitions))})$"  # = ends an option's name
    )
    return {**_UNBOUNDED, Hudi.COMPACTION_STRATEGY: strategy, Hudi.COMPACTION_PARTITIONS: regex}


EVERY_GROUP: Mapping[Hudi, str] = _by_bytes(0)
"""A plan of all file groups that have a log file."""


def plan_options(groups: Sequence[UnmergedGroup], due: Collection[UnmergedGroup]) -> Mapping[Hudi, str]:
    """A plan of all that are due and as few bytes of others as a strategy can leave out.

    Of a table without partitions the buckets are alike, by their keys' hash: those that are due have most bytes of log
    files, or most of the files. Where it is not so, a plan has more groups than are due, and never fewer.
    """
    ways = list(_ways(groups, due))
    return min(ways, key=lambda way: sum(group.base + group.log_bytes for group in way[1]))[0] if ways else EVERY_GROUP


def _ways(
    groups: Sequence[UnmergedGroup], due: Collection[UnmergedGroup]
) -> Iterator[tuple[Mapping[Hudi, str], list[UnmergedGroup]]]:
    """Options of a plan, and the groups that it has."""
    if not due:
        return
    size, number = min(group.log_bytes for group in due), min(len(group.logs) for group in due)
    yield _by_bytes(size), [group for group in groups if group.log_bytes >= size]
    yield _by_number(number), [group for group in groups if len(group.logs) >= number]
    partitions = {group.partition for group in due}
    if all(map(_can_be_passed, partitions)):
        yield _by_partition(partitions), [group for group in groups if group.partition in partitions]


def _can_be_passed(partition: str) -> bool:
    """Options go to Hudi in one text, as a list of names and values."""
    return bool(partition) and re.fullmatch(r"[\w.=/-]+", partition, re.ASCII) is not None
