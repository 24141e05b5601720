"""source: where the lake's events come from and how far they are; and what to do when positions begin again.

What is known is in the log's commits (:mod:`spark_jobs.lake_spec.origins`); a decision is a commit of the log without a
row.
"""

from __future__ import annotations

import argparse
from datetime import datetime

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock, parse_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import plain
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.said import check_line, said_by
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from spark_jobs.lake_spec.epoch_steps import keep_epoch, open_epoch
from spark_jobs.lake_spec.epochs import iso_of
from spark_jobs.lake_spec.origins import NEVER, SOURCES_KEY, SourceBook, pack_sources
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.sources.discovery import checkpoints
from spark_jobs.storage.lake_specs import read_lake_spec, source_book_of
from spark_jobs.storage.layouts import log_layout
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.reader import read_stored
from spark_jobs.storage.recovery import check_still, settled_timeline
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.unfinished import check_intake
from spark_jobs.storage.writer import commit

LIST, NEW, SAME = "list", "new-epoch", "same-epoch"
_STREAMS = ("stream", "epoch", "since", "highest position", "newest event", "servers", "opened by", "because")
_ORIGINS = ("table at the source", "origin", "its events")
_REPLAY = "then run: ingest, and quarantine replay --reason {reason} --because … for events that are in the quarantine"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument(
        "action",
        choices=[LIST, NEW, SAME],
        help="list: streams, their epochs and the tables' origins; new-epoch: positions of a stream begin again; "
        "same-epoch: positions that fell are in order",
    )
    parser.add_argument("--stream", default="", help="as list and the message of ingest have it")
    parser.add_argument("--since", default="", metavar="TIME", help="new-epoch: time of the first event with it")
    parser.add_argument("--after", default="", metavar="STREAM", help="new-epoch: the stream that this one replaces")
    parser.add_argument("--until", default="", metavar="TIME", help="same-epoch: time of the last event that fell")
    parser.add_argument("--server", default="", help="same-epoch: a server that belongs to the stream")
    parser.add_argument("--because", help="new-epoch: why, for those who look later")
    parser.add_argument("--by", help="who decided (default: the user of this machine)")
    parser.add_argument("--yes", action="store_true", help="carry it out; by default it is only shown")


def needs_spark(arguments: JobArguments, settings: Settings) -> bool:
    """Everything but a decision is read from the log's commits."""
    return bool(arguments.options["action"] != LIST and arguments.options.get("yes"))


def check(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> None:
    """Raise ContractError when what is decided makes no sense; nothing is read of the tables."""
    check_line(arguments.options, "by")
    check_line(arguments.options, "because")
    if arguments.options["action"] != LIST:
        _decided(_book_of(Timeline(table=spec.log, path=settings.table_path(spec.log))), arguments)


def run(spark: SparkSession | None, arguments: JobArguments, settings: Settings) -> JobResult:
    """Show what is known of the sources, or what a decision would change; or keep the decision.

    Raises:
        ContractError: nothing was ingested, there is no such stream, or its epoch would not be the newest.
    """
    spec = read_lake_spec(settings)
    check(spec, arguments, settings)
    timeline = Timeline(table=spec.log, path=settings.table_path(spec.log))
    if arguments.options["action"] == LIST:
        print(_shown(source_book_of(timeline) or SourceBook()))
        return _result(arguments)
    if spark is None or not needs_spark(arguments, settings):
        print(_shown(_decided(_book_of(timeline), arguments)))
        return _result(arguments, messages=("nothing was changed; do it with --yes",))
    with hold_tables((spec.log,), job=arguments.job, settings=settings):
        check_intake(settings)
        timeline = settled_timeline(spark, spec.log, settings)
        decided = _decided(_book_of(timeline), arguments)
        print(_shown(decided))
        outcome = _keep(spark, spec, decided, timeline, settings)
    reason = "other_origin" if arguments.options.get("after") else "position_fell"
    return _result(arguments, outcome, messages=(_REPLAY.format(reason=reason),))


def _book_of(timeline: Timeline) -> SourceBook:
    book = source_book_of(timeline)
    if book is None:
        raise ContractError("the log knows no source yet; run ingest first")
    return book


def _decided(book: SourceBook, arguments: JobArguments) -> SourceBook:
    options = arguments.options
    stream = options.get("stream") or ""
    if options["action"] == NEW:
        since = options.get("since") or ""
        return open_epoch(
            book,
            stream,
            since=_millis(parse_clock(since)) if since else None,
            after=options.get("after") or "",
            at=format_clock(arguments.clock),
            by=said_by(options),
            because=options.get("because") or "",
        )
    until, server = options.get("until") or "", options.get("server") or ""
    if not until and not server:
        raise ContractError("same-epoch needs --until, --server or both; the message of ingest has them")
    return keep_epoch(book, stream, until=_millis(parse_clock(until)) if until else NEVER, server=server)


def _keep(
    spark: SparkSession, spec: LakeSpec, book: SourceBook, log_timeline: Timeline, settings: Settings
) -> TableOutcome:
    """A commit of the log without a row, which says what is known of the sources from now on."""
    check_still(log_timeline)
    metadata = {**checkpoints(log_timeline), SOURCES_KEY: pack_sources(book)}
    nothing_df = read_stored(spark, log_timeline.path).limit(0)
    done = commit(nothing_df, log_layout(spec), metadata=metadata, settings=settings)
    return TableOutcome(table=spec.log, instant=done.instant, rows=0, is_committed=True)


def _shown(book: SourceBook) -> str:
    streams = list[tuple[str, ...]]()
    for name, stream in sorted(book.streams.items()):
        so_far = (stream.mark or "-", iso_of(stream.time), ", ".join(map(plain, stream.identities)) or "-")
        for epoch in reversed(stream.epochs):
            opened = (epoch.by or "-", plain(epoch.because) or "-")
            streams.append((plain(name), str(epoch.number), iso_of(epoch.since), *so_far, *opened))
            so_far = ("", "", "")
        if not stream.epochs or stream.epochs[0].since != NEVER:
            streams.append((plain(name), "0", "-", *so_far, "-", "-"))
    origins = [
        (plain(table) or "(the wide log)", plain(origin), state)
        for known, state in ((book.origins, "taken"), (book.refused, "in the quarantine"))
        for table, of_table in sorted(known.items())
        for origin in of_table
    ]
    return f"{format_table(_STREAMS, streams)}\n\n{format_table(_ORIGINS, origins)}"


def _millis(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _result(
    arguments: JobArguments, outcome: TableOutcome | None = None, *, messages: tuple[str, ...] = ()
) -> JobResult:
    return JobResult(
        job=arguments.job,
        status=DONE if outcome else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        tables=(outcome,) if outcome else (),
        messages=messages,
    )
