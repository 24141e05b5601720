"""What a batch of events says of its sources: origins that are taken or refused, and positions that fell.

A table takes the events of one origin, the first that came; the lake spec may say otherwise. Positions of a stream rise
with time. An event that is later than all known by its time and earlier by its position *fell*: its source may have
begun its positions again, and then every later change would lose against the stored rows.

* Where positions rise with the times of commits (SQL Server, PostgreSQL) a batch is compared with what is known and
  with its own highest position. The times of a binlog are those of statements: only what is known from before counts.
* An event of a server that was never seen, at a position that was passed, fell whatever its time is.
* Rows of a snapshot say when they were read, which may be hours after the position that all of them have. Only those of
  a server that was never seen fall.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from spark_jobs.connectors.registry import connector_of
from spark_jobs.contracts.errors import ContractError, TerminalError
from spark_jobs.contracts.names import plain, shell_word
from spark_jobs.lake_spec.origins import NEVER, WIDE, SourceBook, Stream, former_name, stream_of, table_in
from spark_jobs.lake_spec.tables import OriginRule

MOST_FALLEN = 3
"""So many events of a stream that fell in one batch go to the quarantine; more of them stop the run."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class PositionsFellError(TerminalError):
    """A source's events have lower positions than earlier ones; ``falls`` has the facts of each stream."""

    def __init__(self, *, falls: Mapping[str, str]) -> None:
        self.falls = falls
        super().__init__(f"nothing was read: {'; '.join(falls.values())} (docs/runbooks/positions.md)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """Events of one origin and server in a batch.

    Attributes:
        table: the table at the source as the log names it, or :data:`spark_jobs.lake_spec.origins.WIDE`.
        first: the time of the earliest one, in milliseconds since 1970.
        latest: that of the latest one.
        low: the lowest position; "" where none has one.
        mark: the highest position of a change, not of a snapshot's row; "" where there is none.
        mark_time: the time of that change.
        time: the time of the latest change.
    """

    origin: str
    table: str
    identity: str
    first: int
    latest: int
    low: str = ""
    mark: str = ""
    mark_time: int = NEVER
    time: int = NEVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A stream of which events may have fallen: those of ``origins`` below ``mark`` that are later than ``time``.

    Also those below ``known_mark`` of servers in ``strangers``, whatever their time is.
    """

    stream: str
    origins: tuple[str, ...]
    mark: str
    time: int
    known_mark: str = ""
    strangers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fall:
    """Events of a stream that fell: how many, at which positions and times (milliseconds), below which ``mark``."""

    stream: str
    events: int
    low: str
    high: str
    since: int
    until: int
    mark: str
    time: int
    strangers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochVerdict:
    """What is known after a batch; tables with origins that are refused; streams to look at more closely.

    ``newly_refused`` are refused origins that were not refused before.
    """

    book: SourceBook
    refused: tuple[tuple[str, str], ...] = ()
    newly_refused: tuple[tuple[str, str], ...] = ()
    suspects: tuple[Suspect, ...] = ()


def judge(
    book: SourceBook, came: Iterable[Came], *, rule: OriginRule, named: Sequence[str] = (), skew_ms: int
) -> EpochVerdict:
    """Compare a batch with what is known, and add to it what the batch shows.

    Args:
        book: what is known.
        came: the events of a batch.
        rule: what decides between several origins of the wide log.
        named: tables at the source that the lake spec names as the wide log's by their whole names.
        skew_ms: so much later than what is known an event has to be by its time to have fallen.

    Raises:
        ContractError: the wide log was ordered by time, and is not to be any more.
    """
    if book.is_by_time and rule is not OriginRule.BY_TIME:
        raise ContractError(
            f"source: origins was {OriginRule.BY_TIME} when the wide log's events were ingested, and later ones would "
            f"lose against them by any other rule; write origins: {OriginRule.BY_TIME} again"
        )
    groups = sorted(came, key=lambda each: (each.first, each.origin, each.identity))
    origins, refused = {table: list(known) for table, known in book.origins.items()}, dict[tuple[str, str], None]()
    taken, former_ids = list[Came](), list(book.former_ids)
    for each in groups:
        known = origins.setdefault(each.table, [])
        if each.origin not in known:
            if known and not _is_taken(each, known, rule, named):
                refused[each.table, each.origin] = None
                continue
            if former_name(each.origin) in book.former and (not known or rule is not OriginRule.ONE):
                former_ids.append(each.origin)
            known.append(each.origin)
        taken.append(each)
    streams, suspects = dict(book.streams), list[Suspect]()
    for name, of_stream in _by_stream(taken).items():
        known_stream = streams.get(name) or _former(book, of_stream)
        streams[name], suspect = _advanced(name, known_stream, of_stream, skew_ms)
        suspects += [suspect] if suspect else []
    newly_refused = tuple(pair for pair in refused if pair[1] not in book.refused.get(pair[0], ()))
    return EpochVerdict(
        book=replace(
            book,
            streams=streams,
            origins={table: tuple(known) for table, known in origins.items() if known},
            refused=_with_refused(book.refused, newly_refused),
            former_ids=tuple(dict.fromkeys(former_ids)),
            is_by_time=rule is OriginRule.BY_TIME and (book.is_by_time or any(each.table == WIDE for each in taken)),
        ),
        refused=tuple(refused),
        newly_refused=newly_refused,
        suspects=tuple(suspects),
    )


def check_falls(falls: Sequence[Fall], *, may_stop: bool) -> None:
    """Raise PositionsFellError when more events of a stream fell than the quarantine takes."""
    stopped = [fall for fall in falls if fall.events > MOST_FALLEN]
    if stopped and may_stop:
        raise PositionsFellError(falls={fall.stream: describe_fall(fall) for fall in stopped})


def describe_fall(fall: Fall) -> str:
    """The facts of a fall, and the two ways to go on."""
    server = f" of server {plain(', '.join(fall.strangers))}, never seen before," if fall.strangers else ""
    name, stream = plain(fall.stream), shell_word(fall.stream)
    identity = "".join(f" --server {shell_word(each)}" for each in fall.strangers)
    return (
        f"{name}: {fall.events:,} events{server} from {iso_of(fall.since)} to {iso_of(fall.until)} have positions "
        f"{fall.low} to {fall.high}, below {fall.mark}, which was reached at {iso_of(fall.time)}; if its positions "
        f"began again: source new-epoch --stream {stream} --since {iso_of(fall.since)} --yes; if they go on: "
        f"source same-epoch --stream {stream} --until {iso_of(fall.until)}{identity} --yes"
    )


def iso_of(time_ms: int) -> str:
    """A time in milliseconds since 1970 as text; "-" for none."""
    if time_ms == NEVER:
        return "-"
    moment = _EPOCH + timedelta(milliseconds=time_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_taken(each: Came, known: Sequence[str], rule: OriginRule, named: Sequence[str]) -> bool:
    """True for another origin of a table that has one, when the lake spec says that they are one."""
    if each.table != WIDE:
        return False
    if rule is not OriginRule.ONE:
        return True
    is_comparable = any(stream_of(each.origin) == stream_of(origin) for origin in known)
    return is_comparable and table_in(each.origin) in named


def _by_stream(groups: Iterable[Came]) -> Mapping[str, list[Came]]:
    streams = defaultdict[str, list[Came]](list)
    for each in groups:
        streams[stream_of(each.origin)].append(each)
    return streams


def _former(book: SourceBook, groups: Sequence[Came]) -> Stream:
    """How far a stream had come in a log that kept no account of it."""
    found = [book.former[name] for name in {former_name(each.origin) for each in groups} if name in book.former]
    mark, time = max((mark for mark, _ in found), default=""), max((time for _, time in found), default=NEVER)
    return Stream(mark=mark, time=time)


def _advanced(name: str, known: Stream, groups: Sequence[Came], skew_ms: int) -> tuple[Stream, Suspect | None]:
    newest = max(groups, key=lambda each: (each.mark, each.mark_time))
    mark, time = known.mark, known.time
    if connector_of(name.split("/")[0]).rises_by_commit and newest.mark > mark:
        mark, time = newest.mark, max(time, newest.mark_time)
    strangers = tuple(
        sorted(
            {
                each.identity
                for each in groups
                if each.identity and known.identities and each.identity not in known.identities
                if each.low and each.low < known.mark
            }
        )
    )
    after = max(time, known.accepted)
    is_late = any(each.low and each.low < mark and each.latest > after + skew_ms for each in groups)
    suspect = None
    if mark and (is_late or strangers):
        origins = tuple(sorted({each.origin for each in groups}))
        known_mark = known.mark if strangers else ""
        suspect = Suspect(
            stream=name, origins=origins, mark=mark, time=after, known_mark=known_mark, strangers=strangers
        )
    seen = {each.identity for each in groups if each.identity} - {*strangers}
    after_all = replace(
        known,
        mark=max(known.mark, newest.mark),
        time=max(known.time, *(each.time for each in groups)),
        identities=(*known.identities, *sorted(seen - {*known.identities})),
    )
    return after_all, suspect


def _with_refused(
    refused: Mapping[str, tuple[str, ...]], newly_refused: Iterable[tuple[str, str]]
) -> Mapping[str, tuple[str, ...]]:
    found = dict(refused)
    for table, origin in newly_refused:
        found[table] = (*found.get(table, ()), origin)
    return found
