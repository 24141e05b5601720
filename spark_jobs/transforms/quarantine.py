"""Quarantined records: their states, which of them are meant, and their history with one attempt more."""

from __future__ import annotations

from dataclasses import asdict

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.quarantine import Attempt, Selection, State
from spark_jobs.contracts.rejections import Reason

STATE, HISTORY, BECAME = "state", "history", "became"
STATE_COLUMNS = (STATE, HISTORY, BECAME)
RECORD_COLUMNS = ("record_hash", "reason", "detail", "raw", "read_from", "read_offset", "ingest_time")
QUARANTINE_COLUMNS = (*RECORD_COLUMNS, *STATE_COLUMNS)
ABOUT = "about"
_ATTEMPTS = "array<struct<at string, by string, action string, because string, outcome string>>"
_FIRST_WORDS = r"^((?:[^\s0-9'\"]+\s?){0,5})"
"""Of a detail, up to its first digit or quotation mark: what comes then is of the record, and may be personal."""


def with_states(rows_df: DataFrame) -> DataFrame:
    """Rows with all columns of the quarantine; without ``state``, as in lakes of earlier releases, they are open."""
    there = set(rows_df.columns)
    states = (F.col(name) if name in there else F.lit(None).cast("string").alias(name) for name in STATE_COLUMNS)
    return rows_df.select(*RECORD_COLUMNS, *states)


def is_in_state(state: State) -> Column:
    """True for records in this state."""
    return F.col(STATE).isNull() if state is State.OPEN else F.col(STATE).eqNullSafe(state.value)


def is_selected(selection: Selection) -> Column:
    """True for the records that are meant: open ones, and of those whose hash is named any.

    All of them are all events: rows of files that were loaded are named by themselves or by their reason.
    """
    if selection.record:
        return F.col("record_hash").startswith(selection.record)
    is_meant = is_in_state(State.OPEN)
    if selection.reason:
        return is_meant & (F.col("reason") == selection.reason)
    if selection.rule:
        is_broken_rule = F.col("reason") == Reason.BROKEN_RULE.value
        return is_meant & is_broken_rule & F.array_contains(F.split("detail", ", "), selection.rule)
    return is_meant & (F.col("reason") != Reason.BROKEN_ROW.value)


def with_attempt(rows_df: DataFrame, attempt: Attempt, outcome: Column | None = None) -> DataFrame:
    """The rows with ``attempt`` at the end of their history; ``outcome`` where it differs from row to row."""
    known = F.coalesce(F.from_json(HISTORY, _ATTEMPTS), F.array().cast(_ATTEMPTS))
    fields = {name: F.lit(value) for name, value in asdict(attempt).items()}
    if outcome is not None:
        fields["outcome"] = outcome
    new = F.struct(*(value.cast("string").alias(name) for name, value in fields.items()))
    return rows_df.withColumn(HISTORY, F.to_json(F.concat(known, F.array(new))))


def with_about(rows_df: DataFrame) -> DataFrame:
    """With ``about``: the rules that a record breaks, or the first words of its detail; no value of the record."""
    is_rule = F.col("reason") == Reason.BROKEN_RULE.value
    detail = F.coalesce("detail", F.lit(""))
    words = F.trim(F.regexp_extract(detail, _FIRST_WORDS, 1))
    return rows_df.withColumn(ABOUT, F.when(is_rule, detail).otherwise(words))


def count_kinds(rows_df: DataFrame) -> DataFrame:
    """``reason``, ``about``, ``state``, ``records``, and when the ``first`` and the ``last`` of them was ingested."""
    shown_df = with_about(rows_df).withColumn(STATE, F.coalesce(STATE, F.lit(State.OPEN.value)))
    counted_df = shown_df.groupBy("reason", ABOUT, STATE).agg(
        F.count("*").alias("records"), F.min("ingest_time").alias("first"), F.max("ingest_time").alias("last")
    )
    return counted_df.orderBy("reason", ABOUT, STATE)
