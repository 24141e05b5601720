"""Which rows are about a person, and the same rows without them."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.lake_spec.people import STAND_IN, Naming, Person

_VALUES = "row_values"
_NUMBER = "decimal(38,9)"


def names_person(person: Person, naming: Naming, types: Mapping[str, str]) -> Column | None:
    """True for a row that is about the person; None when its columns (with their types) can name no such person.

    A row is about them when it has their key. Without a key, or with the stand-in, one of their names is enough: beside
    another key the same name is another person's.
    """
    key = F.col(naming.key) if naming.key in types else None
    names = [F.col(name) for name in naming.columns if name in types]
    return _names(person, key, names, is_text=F.lit(types.get(naming.key) == "string"))


def names_in_events(person: Person, namings: Mapping[str, Sequence[Naming]]) -> Column:
    """True for an event of a table at the source that is about the person, by the columns that are named there."""
    found = [
        (F.col("source_table") == origin) & is_about
        for origin, of_origin in namings.items()
        for naming in of_origin
        if (is_about := _named_in_event(person, naming)) is not None
    ]
    return F.coalesce(reduce(operator.or_, found), F.lit(False)) if found else F.lit(False)


def without_person(rows_df: DataFrame, naming: Naming) -> DataFrame:
    """Rows about a person (see :func:`names_person`), in the same columns: the stand-in as key, names ``null``."""
    return rows_df.select(*forgotten(rows_df, naming))


def forgotten(rows_df: DataFrame, naming: Naming) -> list[Column]:
    """The columns of such rows as they are to be: the stand-in as key, names ``null``, all others as they are."""
    columns = []
    for name, kind in rows_df.dtypes:
        if name == naming.key:
            columns.append(F.when(F.col(name).isNotNull(), F.lit(STAND_IN).cast(kind)).alias(name))
        elif name in naming.columns:
            columns.append(F.lit(None).cast(kind).alias(name))
        else:
            columns.append(F.col(name))
    return columns


def events_without_person(events_df: DataFrame, person: Person, namings: Mapping[str, Sequence[Naming]]) -> DataFrame:
    """Events of the log in its columns; in ``row_values`` of those about the person the stand-in, and no names."""
    values = F.col(_VALUES)
    for origin, of_origin in namings.items():
        for naming in of_origin:
            is_about = names_in_events(person, {origin: [naming]})
            values = F.when(is_about, _without(values, naming)).otherwise(values)
    return events_df.withColumn(_VALUES, values)


def _named_in_event(person: Person, naming: Naming) -> Column | None:
    is_text = F.coalesce(F.element_at("row_types", F.lit(naming.key)) == "string", F.lit(True))
    return _names(person, _value(naming.key), [_value(name) for name in naming.columns], is_text=is_text)


def _names(person: Person, key: Column | None, names: Sequence[Column], *, is_text: Column) -> Column | None:
    found = []
    if key is not None:
        found.append(F.coalesce(_is_key(key, person.id, is_text), F.lit(False)))
    is_without_key = F.lit(True) if key is None else key.isNull() | _is_key(key, str(STAND_IN), is_text)
    if person.names:
        found += [F.coalesce(name.isin(*person.names), F.lit(False)) & is_without_key for name in names]
    return reduce(operator.or_, found) if found else None


def _is_key(key: Column, id_: str, is_text: Column) -> Column:
    """True where a key is this one: text just so, of a number the same with zeros after the point."""
    is_same = key.cast("string") == F.lit(id_)
    is_number = id_.lstrip("-").isdigit()
    return is_same | (~is_text & (key.cast(_NUMBER) == F.lit(id_).cast(_NUMBER))) if is_number else is_same


def _value(name: str) -> Column:
    return F.element_at(_VALUES, F.lit(name))


def _without(values: Column, naming: Naming) -> Column:
    """The values of a row without the person."""

    def forget(name: Column, value: Column) -> Column:
        is_key = (name == naming.key) & value.isNotNull()
        is_name = name.isin(*naming.columns) if naming.columns else F.lit(False)
        return F.when(is_key, F.lit(str(STAND_IN))).when(~is_name, value)

    return F.transform_values(values, forget)
