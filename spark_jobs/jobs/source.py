"""source: where the lake's events come from and how far they are; and what to do when positions begin again.

What is known is in the log's commits (:mod:`spark_jobs.lake_spec.origins`); a decision is a commit of the log without a
row.
"""

from __future__ import annotations

from datetime import datetime

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.arguments import format_clock, parse_clock
from spark_jobs.contracts.decisions import check_line, decided_by
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import plain
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.source import SourceOptions
from spark_jobs.lake_spec.epoch_steps import keep_epoch, open_epoch
from spark_jobs.lake_spec.epochs import iso_of
from spark_jobs.lake_spec.origins import NEVER, SOURCES_KEY, SourceBook, pack_sources
from spark_jobs.pipelines.log_metadata import commit_log_metadata
from spark_jobs.storage.lake_specs import source_book_of
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.unfinished import check_intake

LIST, NEW, SAME = "list", "new-epoch", "same-epoch"
_STREAMS = ("stream", "epoch", "since", "highest position", "newest event", "servers", "opened by", "because")
_ORIGINS = ("table at the source", "origin", "its events")
_REPLAY = "then run: ingest, and quarantine replay --reason {reason} --because … for events that are in the quarantine"


def needs_spark(context: JobContext[SourceOptions]) -> bool:
    """Everything but a decision is read from the log's commits."""
    return context.options.action != LIST and context.options.yes


def check(context: JobContext[SourceOptions]) -> None:
    """Raise ContractError when what is decided makes no sense; nothing is read of the tables."""
    spec, settings = context.spec, context.settings
    check_line(context.options.by, "by")
    check_line(context.options.because, "because")
    if context.options.action != LIST:
        _decided(context, _book_of(Timeline(table=spec.log, path=settings.table_path(spec.log))))


def run(context: JobContext[SourceOptions]) -> JobResult:
    """Show what is known of the sources, or what a decision would change; or keep the decision.

    Raises:
        ContractError: nothing was ingested, there is no such stream, or its epoch would not be the newest.
    """
    settings = context.settings
    spec = context.spec
    timeline = Timeline(table=spec.log, path=settings.table_path(spec.log))
    if context.options.action == LIST:
        print(_shown(source_book_of(timeline) or SourceBook()))
        return _result(context)
    if not needs_spark(context):
        print(_shown(_decided(context, _book_of(timeline))))
        return _result(context, messages=("nothing was changed; do it with --yes",))
    with hold_tables((spec.log,), job=context.job, settings=settings):
        check_intake(settings)
        timeline = settled_timeline(context.spark, spec.log, settings)
        decided = _decided(context, _book_of(timeline))
        print(_shown(decided))
        outcome = commit_log_metadata(context, {SOURCES_KEY: pack_sources(decided)}, timeline)
    reason = "other_origin" if context.options.after else "position_fell"
    return _result(context, outcome, messages=(_REPLAY.format(reason=reason),))


def _book_of(timeline: Timeline) -> SourceBook:
    book = source_book_of(timeline)
    if book is None:
        raise ContractError("the log knows no source yet; run ingest first")
    return book


def _decided(context: JobContext[SourceOptions], book: SourceBook) -> SourceBook:
    options = context.options
    if options.action == NEW:
        return open_epoch(
            book,
            options.stream,
            since=_millis(parse_clock(options.since)) if options.since else None,
            after=options.after,
            at=format_clock(context.clock),
            by=decided_by(options.by),
            because=options.because or "",
        )
    until, server = options.until, options.server
    if not until and not server:
        raise ContractError("same-epoch needs --until, --server or both; the message of ingest has them")
    return keep_epoch(book, options.stream, until=_millis(parse_clock(until)) if until else NEVER, server=server)


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
    context: JobContext[SourceOptions], outcome: TableOutcome | None = None, *, messages: tuple[str, ...] = ()
) -> JobResult:
    return context.result(
        DONE if outcome else NOTHING_TO_DO,
        tables=(outcome,) if outcome else (),
        messages=messages,
    )


JOB = Job(options=SourceOptions, run=run, check=check, needs_spark=needs_spark)
