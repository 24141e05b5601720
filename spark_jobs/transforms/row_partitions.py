"""The partition of a keyed row, and the texts of the columns of its key, which may decide it."""

from __future__ import annotations

import re
from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show, show_all
from spark_jobs.lake_spec.partitioning import (
    DELETED_PARTITION,
    NO_FOLDER,
    RANGE_DIGITS,
    UNKNOWN_PARTITION,
    Transform,
)
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.transforms.keyed_rows import KEY, MergedTable, slot_names
from spark_jobs.transforms.texts import from_text

_PATTERNS = {Transform.YEAR: "yyyy", Transform.MONTH: "yyyy-MM", Transform.DAY: "yyyy-MM-dd"}
_TIMES = re.compile(r"date|timestamp")
_WHOLE = re.compile(r"(tiny|small|big)?int|string|decimal\(\d+,0\)")
"""Types of columns that ranges can be made of; texts that are no whole numbers are in none."""
_NUMBER = rf"^-?[0-9]{{1,{RANGE_DIGITS}}}\z"
_WIDE = "decimal(20,0)"
_LARGEST = 2**63 - 1


def partition_of(table: MergedTable, row_order: Column, value_of: Callable[[str], Column]) -> Column:
    """The partition of a row; ``value_of`` gives the text of a slot, and a null order means a deleted row.

    With partitions that the key decides the row is in the same one whether it is deleted or not.

    Raises:
        ContractError: the column is not there, or has no year, month or day, or no whole numbers.
    """
    spec, sources = table.spec, [column.source for column in table.columns]
    if spec.partition not in sources:
        raise ContractError(
            f"{table.name}: there is no column {show(spec.partition)} to partition by; the source has "
            f"{show_all(sources)}"
        )
    number = sources.index(spec.partition)
    type_, transform = table.columns[number].type, spec.transform
    fitting = {Transform.VALUE: None, Transform.TRUNCATE: _WHOLE}.get(transform, _TIMES)
    if fitting and not fitting.fullmatch(type_):
        raise ContractError(
            f"{table.name}: {spec.partition} is {type_} and has no {transform.value}; use transform: value"
        )
    if spec.has_fixed_partitions:
        return range_of(key_texts(table)[spec.partition], spec)
    text = value_of(slot_names(number + 1)[number])
    if transform is Transform.TRUNCATE:
        return F.when(row_order.isNull(), DELETED_PARTITION).otherwise(range_of(text, spec))
    value = from_text(text, type_)
    named = F.date_format(value, _PATTERNS[transform]) if transform in _PATTERNS else value.cast("string")
    folder = F.when(named.rlike(NO_FOLDER), F.url_encode(named)).otherwise(named)
    return F.when(row_order.isNull(), DELETED_PARTITION).otherwise(F.coalesce(folder, F.lit(UNKNOWN_PARTITION)))


def range_of(text: Column, spec: TableSpec) -> Column:
    """The name of the range that a whole number, given as text, is in; ``unknown`` for other texts and for null.

    It is the first number of the range in 19 digits. That of negative numbers has a minus before the digits that are
    missing to 10^19: so names sort as the numbers do.
    """
    number = F.when(text.rlike(_NUMBER), text).cast(_WIDE)
    number = F.when(number.between(F.lit(-_LARGEST - 1).cast(_WIDE), F.lit(_LARGEST).cast(_WIDE)), number)
    first = number - F.pmod(number, F.lit(spec.width).cast(_WIDE))
    complement = F.lit(str(10**RANGE_DIGITS)).cast(_WIDE) + first

    def padded(digits: Column) -> Column:
        return F.lpad(digits.cast("string"), RANGE_DIGITS, "0")

    named = F.when(first < 0, F.concat(F.lit("-"), padded(complement))).otherwise(padded(first))
    return F.coalesce(named, F.lit(UNKNOWN_PARTITION))


def key_texts(table: MergedTable) -> dict[str, Column]:
    """By name at the source the texts of the key's columns, which are known of deleted rows too."""
    if len(table.spec.key) == 1:
        return {table.spec.key[0]: F.col(KEY)}
    texts = F.from_json(KEY, "array<string>")
    return {name: F.get(texts, F.lit(number)) for number, name in enumerate(table.spec.key)}
