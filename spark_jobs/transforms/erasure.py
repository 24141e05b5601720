"""Which rows are about a person, and the same rows without them."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.people import STAND_IN, Person


def names_person(person: Person, columns: Collection[str]) -> Column | None:
    """True for a row of these columns that is about the person; None when the columns can name nobody of the kind.

    A row is about them when it has their key. Without a key, or with the stand-in, one of their names is enough: beside
    another key the same name is somebody else's.
    """
    key, found = F.col(person.spec.key), []
    has_key = person.spec.key in columns
    if has_key:
        found.append(F.coalesce(key == F.lit(person.id), F.lit(False)))
    is_nobody = key.isNull() | (key == F.lit(str(STAND_IN))) if has_key else F.lit(True)
    if person.names:
        is_named = [F.col(name).isin(*person.names) for name in person.spec.columns if name in columns]
        found += [F.coalesce(each, F.lit(False)) & is_nobody for each in is_named]
    return reduce(lambda one, other: one | other, found) if found else None


def without_person(rows_df: DataFrame, person: Person) -> DataFrame:
    """Rows about the person (see :func:`names_person`) with the stand-in for their key, and without their names."""
    return rows_df.select(*forgotten(rows_df, person))


def forgotten(rows_df: DataFrame, person: Person) -> list[Column]:
    """The columns of such rows as they are to be."""
    key, columns = person.spec.key, []
    for name, kind in rows_df.dtypes:
        if name == key:
            columns.append(F.when(F.col(key).isNotNull(), F.lit(STAND_IN).cast(kind)).alias(name))
        elif name in person.spec.columns:
            columns.append(F.lit(None).cast(kind).alias(name))
        else:
            columns.append(F.col(name))
    return columns
