"""Where events come from, and what is known of it: origins, the streams whose positions compare, and their epochs.

An *origin* is a table at the source with everything that names it: ``<connector>/<server>/<database>/<schema>.<table>``
(MySQL and MariaDB, whose databases are schemas: ``<connector>/<server>/<database>.<table>``). Without the table it is a
*stream*: positions of one stream are comparable, those of two are numbers of two logs.

A stream's positions may begin again: after a restore, an upgrade, on another server. From then on they count in a new
*epoch*. An event belongs to the newest epoch that had begun at its time, so it is in the same one however often and
whenever it is delivered. The number of the epoch comes before the position in an order, so that a newer epoch wins
over every older one; epoch 0 has no prefix, as orders that were written before there were epochs.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

SOURCES_KEY = "sources"
"""In the metadata of the log's commits: what is known of origins and streams."""
WIDE = ""
"""In place of a table at the source: the wide log."""
NEVER = -(2**62)
"""Before every time of an event, in milliseconds since 1970."""
BY_TIME = "y"
"""Before orders that compare times of several origins; it sorts after every epoch."""
MOST_EPOCHS = 9999
_ESCAPED = {"%": "%25", "/": "%2F", ".": "%2E", "@": "%40"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """Positions from a time on, in milliseconds since 1970; and who opened it, when and why."""

    number: int
    since: int
    at: str = ""
    by: str = ""
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """What is known of a stream: its epochs after the first, and how far its events have come.

    Attributes:
        epochs: in their order; none as long as its positions only rise.
        mark: the highest position, with its epoch.
        time: the latest time of an event.
        identities: the servers that its events name.
        accepted: positions that fell in events up to this time are in order: a person looked.
    """

    epochs: tuple[Epoch, ...] = ()
    mark: str = ""
    time: int = NEVER
    identities: tuple[str, ...] = ()
    accepted: int = NEVER


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceBook:
    """What the log's commits know of the sources.

    Attributes:
        streams: by name.
        origins: by table at the source, as the log names it (:data:`WIDE` for the wide log), those that are taken.
        refused: likewise, those whose events are in the quarantine.
        former: of a log without a book, how far each ``<server>.<schema>.<table>`` had come: position and time.
        former_ids: origins of which the log has events whose id lacks connector and database.
        is_by_time: events of the wide log are ordered by time.
    """

    streams: Mapping[str, Stream] = field(default_factory=dict)
    origins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    refused: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    former: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    former_ids: tuple[str, ...] = ()
    is_by_time: bool = False

    @property
    def epochs(self) -> Epochs:
        """The epochs after the first, of the streams that have some."""
        return tuple(
            (name, tuple((epoch.since, epoch.number) for epoch in stream.epochs))
            for name, stream in sorted(self.streams.items())
            if stream.epochs
        )


Epochs = tuple[tuple[str, tuple[tuple[int, int], ...]], ...]
"""By stream, since which time which epoch counts, in their order."""


def escaped(name: str) -> str:
    """A part of an origin, which no other part can be taken for."""
    return "".join(_ESCAPED.get(letter, letter) for letter in name)


def stream_of(origin: str) -> str:
    """The stream of an origin."""
    return origin.rpartition("/")[0]


def table_in(origin: str) -> str:
    """``<schema>.<table>`` of an origin, as the lake names tables at the source."""
    return unescaped(origin.rpartition("/")[2]).lower()


def former_name(origin: str) -> str:
    """``<server>.<schema>.<table>``: what ids of events began with before connector and database were part of them."""
    stream, _, table = origin.rpartition("/")
    return unescaped(f"{stream.split('/')[1]}.{table}")


def unescaped(text: str) -> str:
    """What :func:`escaped` was given."""
    for letter, code in reversed(_ESCAPED.items()):
        text = text.replace(code, letter)
    return text


def epoch_at(epochs: tuple[tuple[int, int], ...], time_ms: int) -> int:
    """The epoch of an event by its time."""
    return next((number for since, number in reversed(epochs) if since <= time_ms), 0)


def order_prefix(number: int) -> str:
    """The prefix of the position in an order of this epoch."""
    return f"x{number:04d}." if number else ""


def pack_sources(book: SourceBook) -> str:
    """As text for commit metadata, the same for the same book."""
    content = json.dumps(asdict(book), separators=(",", ":"), sort_keys=True).encode()
    return base64.b64encode(zlib.compress(content, 9)).decode()


def unpack_sources(text: str | None) -> SourceBook | None:
    """Read what :func:`pack_sources` wrote; None for None: no run has recorded anything yet."""
    if not text:
        return None
    stored: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(text)))
    return SourceBook(
        streams={name: _stream_of(of) for name, of in stored["streams"].items()},
        origins={name: tuple(of) for name, of in stored["origins"].items()},
        refused={name: tuple(of) for name, of in stored["refused"].items()},
        former={name: (mark, time) for name, (mark, time) in stored["former"].items()},
        former_ids=tuple(stored["former_ids"]),
        is_by_time=stored["is_by_time"],
    )


def _stream_of(stored: Mapping[str, Any]) -> Stream:
    epochs = tuple(Epoch(**epoch) for epoch in stored["epochs"])
    return Stream(**{**stored, "epochs": epochs, "identities": tuple(stored["identities"])})
