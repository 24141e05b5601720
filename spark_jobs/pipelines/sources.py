"""The sources of a batch of decoded records: events of other origins and events that fell are quarantined."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.names import plain
from spark_jobs.contracts.rejections import Reason
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.epochs import (
    Came,
    EpochVerdict,
    Fall,
    Suspect,
    check_falls,
    describe_fall,
    judge,
)
from spark_jobs.lake_spec.origins import NEVER, SOURCES_KEY, WIDE, SourceBook, pack_sources
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_sources import is_pattern
from spark_jobs.sources.decoding import SOURCE_IDENTITY, SOURCE_MARK, SOURCE_ORIGIN
from spark_jobs.storage.lake_specs import source_book_of
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.log import is_usable, with_reason

_AHEAD_MS = 3_600_000
"""Times so much after the run's clock are mistakes of their source, as those before 1970 are: they say nothing of its
positions."""
_TABLE = "__table"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSources:
    """A batch without what its sources do not allow: the records, what is known after them, what was quarantined."""

    decoded_df: DataFrame
    book: SourceBook
    newly_refused: tuple[tuple[str, str], ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    falls: tuple[Fall, ...] = ()

    @property
    def metadata(self) -> dict[str, str]:
        """For the log's next commit."""
        return {SOURCES_KEY: pack_sources(self.book)}

    @property
    def messages(self) -> tuple[str, ...]:
        """A line for each origin that is refused, and for each stream of which events fell."""
        return (*(_line(*pair, self.book) for pair in self.refused), *map(_fallen_line, self.falls))

    @property
    def alerts(self) -> tuple[str, ...]:
        """What a person has to decide; an origin is reported once."""
        return (*(_line(*pair, self.book) for pair in self.newly_refused), *map(_fallen_line, self.falls))


def read_sources(spark: SparkSession, log_timeline: Timeline, clock: datetime) -> SourceBook:
    """What is known of the sources before a batch.

    Of a log without a book (one of an earlier release) the rows say how far its sources had come.
    """
    book = source_book_of(log_timeline)
    if book is not None or not log_timeline.last:
        return book or SourceBook()
    rows = (
        read_snapshot(spark, log_timeline.path)
        .where(F.col("event_time") <= F.lit(clock))
        .groupBy(F.regexp_extract("event_id", r"^(.*):[^:]*$", 1).alias("name"))
        .agg(F.max("event_order").alias("order"), F.max(F.unix_millis("event_time")).alias("time"))
        .collect()
    )
    return SourceBook(former={row["name"]: (row["order"].partition("-")[0], int(row["time"])) for row in rows})


def decoding_spec(spec: LakeSpec, book: SourceBook) -> LakeSpec:
    """The lake as its events are decoded, whoever reads them: by the same epochs they have the same identity again."""
    return replace(spec, epochs=book.epochs)


def check_sources(
    decoded_df: DataFrame,
    spec: LakeSpec,
    book: SourceBook,
    clock: datetime,
    settings: Settings,
    *,
    may_stop: bool,
    came: Sequence[Row] | None = None,
) -> CheckedSources:
    """Judge the sources of a batch of decoded records, which is pinned.

    Args:
        decoded_df: the records.
        spec: the lake.
        book: what is known.
        clock: the run's.
        settings: how far times of a source may be off.
        may_stop: more events of a stream that fell than the quarantine takes stop the run; else all of them go there.
        came: the rows of :func:`came_query`; None to run it here.

    Raises:
        PositionsFellError: a source may have begun its positions again; nothing was written.
        ContractError: the rule between origins cannot be followed any more.
    """
    has_table = "source_table" in decoded_df.columns
    came = came_query(decoded_df, clock).collect() if came is None else came
    first = _judge(came, spec, book, settings)
    if first.refused:
        decoded_df = _quarantine_origins(decoded_df, first.refused, has_table=has_table)
    falls = _falls(decoded_df, first.suspects, clock, settings.source_skew_seconds * 1000)
    check_falls(falls, may_stop=may_stop)
    judged = first
    if falls:
        fell = {fall.stream for fall in falls}
        suspects = [suspect for suspect in first.suspects if suspect.stream in fell]
        decoded_df = _quarantine_fallen(decoded_df, suspects, clock, settings.source_skew_seconds * 1000)
        judged = _judge(came_query(decoded_df, clock).collect(), spec, book, settings)
    return CheckedSources(
        decoded_df=decoded_df,
        book=first.book if judged is first else _with_refusals_of(judged.book, first.book),
        newly_refused=first.newly_refused,
        refused=first.refused,
        falls=falls,
    )


def _with_refusals_of(book: SourceBook, other: SourceBook) -> SourceBook:
    """The book of a second look, after the refused events were quarantined."""
    return replace(book, refused=other.refused, origins=other.origins, former_ids=other.former_ids)


def _judge(came: Sequence[Row], spec: LakeSpec, book: SourceBook, settings: Settings) -> EpochVerdict:
    # Of one that names server and database too the table counts: events of another stream are not comparable anyway.
    tables = (name.rpartition("/")[2] for name in spec.source.tables)
    named = tuple(name.lower() for name in tables if not is_pattern(name))
    found = [_came(row) for row in came]
    return judge(book, found, rule=spec.source.origins, named=named, skew_ms=settings.source_skew_seconds * 1000)


def came_query(decoded_df: DataFrame, clock: datetime) -> DataFrame:
    """For :func:`check_sources`, a row for each origin, table and server of decoded records, with how far they came."""
    table = F.coalesce("source_table", F.lit(WIDE)) if "source_table" in decoded_df.columns else F.lit(WIDE)
    millis = F.unix_millis("event_time")
    has_happened, is_change = _has_happened(clock), F.col("op") != "r"
    is_marked = has_happened & is_change & F.col(SOURCE_MARK).isNotNull()
    return (
        decoded_df.where(is_usable())
        .groupBy(SOURCE_ORIGIN, table.alias(_TABLE), SOURCE_IDENTITY)
        .agg(
            F.min(millis).alias("first"),
            F.max(F.when(has_happened, millis)).alias("latest"),
            F.min(F.when(has_happened, F.col(SOURCE_MARK))).alias("low"),
            F.max(F.when(is_marked, F.struct(F.col(SOURCE_MARK).alias("mark"), millis.alias("time")))).alias("newest"),
            F.max(F.when(has_happened & is_change, millis)).alias("time"),
        )
    )


def _came(row: Row) -> Came:
    return Came(
        origin=row[SOURCE_ORIGIN],
        table=row[_TABLE],
        identity=row[SOURCE_IDENTITY] or "",
        first=_time(row["first"]),
        latest=_time(row["latest"]),
        low=row["low"] or "",
        mark=row["newest"]["mark"] if row["newest"] else "",
        mark_time=_time(row["newest"]["time"] if row["newest"] else None),
        time=_time(row["time"]),
    )


def _falls(decoded_df: DataFrame, suspects: Sequence[Suspect], clock: datetime, skew_ms: int) -> tuple[Fall, ...]:
    """Of the streams whose events may have fallen, those of which some did."""
    falls = list[Fall]()
    for suspect in suspects:
        fell = _fell(suspect, clock, skew_ms)
        row = (
            decoded_df.where(is_usable())
            .agg(
                F.count_if(fell).alias("events"),
                F.min(F.when(fell, F.col(SOURCE_MARK))).alias("low"),
                F.max(F.when(fell, F.col(SOURCE_MARK))).alias("high"),
                F.min(F.when(_fell(suspect, clock, 0), F.unix_millis("event_time"))).alias("since"),
                F.max(F.when(fell, F.unix_millis("event_time"))).alias("until"),
            )
            .first()
        )
        if row is not None and row["events"]:
            fall = Fall(
                stream=suspect.stream,
                events=int(row["events"]),
                low=row["low"],
                high=row["high"],
                since=int(row["since"]),
                until=int(row["until"]),
                mark=suspect.mark,
                time=suspect.time,
                strangers=suspect.strangers,
            )
            falls.append(fall)
    return tuple(falls)


def _fell(suspect: Suspect, clock: datetime, skew_ms: int) -> Column:
    """True for usable records of a stream that fell."""
    millis, mark = F.unix_millis("event_time"), F.col(SOURCE_MARK)
    is_late = (F.col("op") != "r") & (mark < suspect.mark) & (millis > suspect.time + skew_ms)
    if suspect.strangers:
        is_late = is_late | ((mark < suspect.known_mark) & F.col(SOURCE_IDENTITY).isin(*suspect.strangers))
    is_of_it = F.col(SOURCE_ORIGIN).isin(*suspect.origins)
    return F.coalesce(is_of_it & _has_happened(clock) & is_late, F.lit(False))


def _has_happened(clock: datetime) -> Column:
    """True where the time of an event may be that of its change."""
    return F.unix_millis("event_time").between(1, _millis(clock) + _AHEAD_MS)


def _quarantine_fallen(decoded_df: DataFrame, suspects: Sequence[Suspect], clock: datetime, skew_ms: int) -> DataFrame:
    fell = reduce(operator.or_, (_fell(suspect, clock, skew_ms) for suspect in suspects))
    detail = F.concat(F.lit("position fell: "), F.col(SOURCE_MARK))
    return with_reason(decoded_df, is_usable() & fell, Reason.POSITION_FELL, detail)


def _quarantine_origins(decoded_df: DataFrame, refused: Sequence[tuple[str, str]], *, has_table: bool) -> DataFrame:
    table = F.coalesce("source_table", F.lit(WIDE)) if has_table else F.lit(WIDE)
    is_refused = reduce(operator.or_, ((table == of) & (F.col(SOURCE_ORIGIN) == origin) for of, origin in refused))
    detail = F.concat(F.lit("another origin: "), F.col(SOURCE_ORIGIN))
    return with_reason(decoded_df, is_usable() & F.coalesce(is_refused, F.lit(False)), Reason.OTHER_ORIGIN, detail)


def _line(table: str, origin: str, book: SourceBook) -> str:
    what = plain(table) if table else "the wide log"
    known = ", ".join(map(plain, book.origins.get(table, ())))
    return (
        f"events of {plain(origin)} are in the quarantine: {what} takes those of {known}; docs/sources.md says how two "
        f"origins are kept apart or become one"
    )


def _fallen_line(fall: Fall) -> str:
    return f"{describe_fall(fall)}; until then those events are in the quarantine (docs/runbooks/positions.md)"


def _millis(clock: datetime) -> int:
    return int(clock.timestamp() * 1000)


def _time(value: int | None) -> int:
    return NEVER if value is None else int(value)
