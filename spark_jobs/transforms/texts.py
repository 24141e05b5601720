"""Values as text and back: the same value again, of every SQL type that a column of a mirror may have."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F


def to_text(value: Column, type_: str) -> Column:
    """The text of a column's value, as the log keeps it (:mod:`spark_jobs.sources.source_types`)."""
    if type_ == "timestamp":
        return F.unix_micros(value).cast("string")
    if type_ == "date":
        return F.unix_date(value).cast("string")
    if type_ == "binary":
        return F.base64(value)
    return value.cast("string")


def from_text(text: Column, type_: str) -> Column:
    """The value whose text it is."""
    if type_ == "timestamp":
        return F.timestamp_micros(text.cast("bigint"))
    if type_ == "date":
        return F.date_from_unix_date(text.cast("int"))
    if type_ == "binary":
        return F.unbase64(text)
    return text.cast(type_)
