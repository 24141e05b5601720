"""What a person decides of positions: that they begin again (a new epoch), or that they go on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import plain, shell_word, show, show_all
from spark_jobs.lake_spec.epochs import iso_of
from spark_jobs.lake_spec.origins import MOST_EPOCHS, NEVER, Epoch, SourceBook, Stream, stream_of


def open_epoch(
    book: SourceBook, name: str, *, since: int | None, after: str = "", at: str = "", by: str = "", because: str = ""
) -> SourceBook:
    """The book with a new epoch of a stream.

    Args:
        book: what is known.
        name: the stream.
        since: the first event time of the new epoch, in milliseconds since 1970; None, which needs ``after``, for all
            events of the stream.
        after: another stream that ``name`` replaces. Its events win over all of that one, and tables that took their
            events from there take them from both.
        at: the run's clock.
        by: who decided it.
        because: why.

    Raises:
        ContractError: there is no such stream, or the epoch would not be the newest.
    """
    _check_known(book, after or name)
    if since is None and not after:
        raise ContractError(
            f"--since is missing: the time of the first event of {show(name)} with a new position; ingest and source "
            f"list show it"
        )
    stream, known = book.streams.get(name, Stream()), book.streams[after or name]
    begins = NEVER if since is None else since
    if stream.epochs and begins <= stream.epochs[-1].since:
        raise ContractError(
            f"--since {iso_of(begins)} is not after {iso_of(stream.epochs[-1].since)}, when epoch "
            f"{stream.epochs[-1].number} of {show(name)} begins; give a later time"
        )
    number = 1 + max((epoch.number for each in (stream, known) for epoch in each.epochs), default=0)
    if number > MOST_EPOCHS:
        raise ContractError(f"{show(name)} has had {MOST_EPOCHS} epochs, and orders have no room for more")
    epoch = Epoch(number=number, since=begins, at=at, by=by, because=because)
    opened = replace(stream, epochs=(*stream.epochs, epoch))
    opened_book = replace(book, streams={**book.streams, name: opened})
    return _with_origins(opened_book, name, after) if after else opened_book


def keep_epoch(book: SourceBook, name: str, *, until: int, server: str = "") -> SourceBook:
    """The book in which positions of a stream that fell up to a time are in order, and its server is known."""
    _check_known(book, name)
    stream = book.streams[name]
    servers = (server,) if server and server not in stream.identities else ()
    kept = replace(stream, accepted=max(stream.accepted, until), identities=(*stream.identities, *servers))
    return replace(book, streams={**book.streams, name: kept})


def lost_epochs(before: SourceBook | None, after: SourceBook | None) -> tuple[str, ...]:
    """Of a log that was restored, a line for each epoch that it no longer knows, with the command that opens it."""
    known = {name: stream.epochs for name, stream in after.streams.items()} if after else {}
    return tuple(
        f"epoch {epoch.number} of {plain(name)} was opened after the savepoint; open it again before the next ingest: "
        f"source new-epoch --stream {shell_word(name)}"
        + (f" --since {iso_of(epoch.since)} --yes" if epoch.since != NEVER else " --after (the stream before) --yes")
        for name, stream in sorted((before.streams if before else {}).items())
        for epoch in stream.epochs
        if epoch not in known.get(name, ())
    )


def _check_known(book: SourceBook, name: str) -> None:
    if name not in book.streams:
        known = show_all(sorted(book.streams)) if book.streams else "none yet"
        raise ContractError(f"{show(name)} is no stream that the log knows; it knows {known} (source list)")


def _with_origins(book: SourceBook, name: str, after: str) -> SourceBook:
    """Tables that took events of ``after`` take those of ``name`` too."""
    origins, refused = dict(book.origins), dict[str, tuple[str, ...]](book.refused)
    for table, known in book.origins.items():
        new = [f"{name}/{each.rpartition('/')[2]}" for each in known if stream_of(each) == after]
        origins[table] = tuple(dict.fromkeys((*known, *new)))
        refused[table] = tuple(each for each in refused.get(table, ()) if each not in new)
    return replace(book, origins=origins, refused=_without_empty(refused))


def _without_empty(refused: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    return {table: origins for table, origins in refused.items() if origins}
