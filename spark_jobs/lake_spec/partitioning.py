"""What names the partitions of a keyed table: a column and a transform of its value."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

DELETED_PARTITION, UNKNOWN_PARTITION = "deleted", "unknown"
"""Where deleted rows are, unless their key decides, and those whose partition column is null or is no whole number."""
NO_FOLDER = r"[/\\\x00-\x1f]"
"""What a folder's name cannot have: Hudi makes a partition's value one as it is, and steps in it would lead out of the
table. In the partitions of entity tables it is percent-encoded."""
RANGE_DIGITS = 19
"""Digits in the name of a range: those of the largest number of 64 bits, so that names sort as the numbers do."""
MOST_WIDTH = 10**15


class Transform(StrEnum):
    """What of a partition column's value names the partition."""

    VALUE = "value"
    YEAR = "year"
    MONTH = "month"
    DAY = "day"
    TRUNCATE = "truncate"
    """The first number of the range of ``width`` whole numbers that the value is in; Iceberg's ``truncate[W]``."""


def mistakes_of_width(partition: str, transform: Transform, width: int | None) -> Iterator[tuple[str, str]]:
    """What is wrong with the width of ranges, each with the entry that it is in."""
    if transform is not Transform.TRUNCATE:
        if width is not None:
            yield f"width is for transform: truncate, and this is {transform.value}; take it out", "width"
    elif not partition:
        yield "transform: truncate needs a partition; name a column of whole numbers", "transform"
    elif type(width) is not int or not 1 <= width <= MOST_WIDTH:
        yield (
            "transform: truncate needs a width of 1 to 10^15, how many whole numbers a partition takes; correct it",
            "transform" if width is None else "width",
        )


def partition_text(partition: str, transform: Transform, width: int | None) -> str:
    """A column and its transform in one text; "" for no partition."""
    return f"{partition} by {transform}{f'[{width}]' if width else ''}" if partition else ""
