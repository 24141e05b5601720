"""What a simulated day cost, as numbers, a table and a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

_EDGE = 0.125
"""The share of the day at its beginning (after as much to warm up) and at its end that are compared."""
PICTURE = "day.svg"
BESIDE_AIM = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """After one batch: its seconds, those of the services after it, and what is stored now; the rest are totals."""

    seconds: float
    service_seconds: float
    files: int
    bytes: int
    commits: int
    written: int
    landed: int
    memory_mb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCost:
    """Of one table, in bytes: written all day, opened by a snapshot read at the end, and its rows in a file alone."""

    table: str
    written: int
    opened: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lake:
    """One of the two days; of each series the medians near its beginning and at its end."""

    name: str
    batches: int
    early: Mapping[str, float]
    late: Mapping[str, float]
    service_seconds: float
    written: int
    landed: int
    query_seconds: float
    tables: Sequence[TableCost]

    @classmethod
    def of(cls, name: str, samples: Sequence[Sample], *, query_seconds: float, tables: Sequence[TableCost]) -> Lake:
        """By a sample after each batch."""
        edge = max(int(len(samples) * _EDGE), 1)
        early, late = samples[edge : 2 * edge] or samples, samples[-edge:]
        return cls(
            name=name,
            batches=len(samples),
            early={what: median(map(read, early)) for what, read in _SERIES.items()},
            late={what: median(map(read, late)) for what, read in _SERIES.items()},
            service_seconds=sum(sample.service_seconds for sample in samples),
            written=samples[-1].written,
            landed=samples[-1].landed,
            query_seconds=query_seconds,
            tables=tables,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one contender did with a day's events: processor seconds for changes and maintenance; how it is at the end.

    ``files`` are the data files, ``query_seconds`` those of the query over sales.
    """

    contender: str
    changes: float
    upkeep: float
    files: int
    query_seconds: float

    @property
    def seconds(self) -> float:
        """All of its processor time."""
        return self.changes + self.upkeep


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """The same day by contenders, ours first; by contender the tables whose rows are not those of the first.

    ``start`` is the lake that it began with.
    """

    start: str
    batches: int
    work: Sequence[Work]
    differing_tables: Mapping[str, Sequence[str]]

    @property
    def ratio(self) -> float:
        """Our processor time by the other's."""
        ours, other = self.work
        return ours.seconds / other.seconds

    @property
    def disagreements(self) -> list[str]:
        """Who ended with other rows, and where."""
        return [f"{name} ({', '.join(tables)})" for name, tables in self.differing_tables.items() if tables]

    def lines(self, aim: float) -> Iterator[str]:
        """Its table of the page."""
        heads = ("changes", "maintenance", "all", "a batch", "data files at the end", "query over sales, s")
        yield f"| {self.start}: processor seconds of {self.batches} batches | {' | '.join(heads)} |"
        yield f"|---|{'--:|' * len(heads)}"
        for each in self.work:
            figures = (f"{each.changes:,.0f}", f"{each.upkeep:,.0f}", f"{each.seconds:,.0f}")
            batch = f"{each.seconds / self.batches:.2f}"
            yield f"| {each.contender} | {' | '.join(figures)} | {batch} | {each.files:,} | {each.query_seconds:.2f} |"
        found = "met" if self.ratio <= aim else "not met"
        yield from (
            "",
            f"{self.work[0].contender} / {self.work[1].contender}: {self.ratio:.2f} (aim {aim:g}: {found}).",
        )
        if self.disagreements:
            yield from ("", f"**Rows differ: {'; '.join(self.disagreements)}. The work is not comparable.**")
        else:
            yield from ("", "The rows of the log and of all tables were the same in the end.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """A day with services and one without, and the same day beside another engine."""

    title: str
    method: str
    events: int
    lakes: Sequence[Lake]
    beside: Sequence[Beside] = ()

    @property
    def disagreements(self) -> list[str]:
        """Those of the contenders of the same day."""
        return [f"{each.start}: {found}" for each in self.beside for found in each.disagreements]

    def lines(self) -> Iterator[str]:
        """Its section of the page."""
        yield f"| | {' | '.join(lake.name for lake in self.lakes)} |"
        yield f"|---|{'--:|' * len(self.lakes)}"
        for what, cells in self._rows():
            yield f"| {what} | {' | '.join(cells)} |"
        yield from ("", *self._costs(), "")
        yield f"![Files, commits, seconds and memory over the day]({PICTURE})"
        for each in self.beside:
            yield from ("", *each.lines(BESIDE_AIM))

    def _rows(self) -> Iterator[tuple[str, list[str]]]:
        yield f"batches of {self.events:,} events", [f"{lake.batches}" for lake in self.lakes]
        for what in _SERIES:
            if what != _SERVICES:
                pairs = [(lake.early[what], lake.late[what]) for lake in self.lakes]
                yield f"{what}, in the second and in the last eighth", [f"{a:,.1f} → {b:,.1f}" for a, b in pairs]
        yield "seconds of services, all day", [f"{lake.service_seconds:,.0f}" for lake in self.lakes]
        yield "bytes written / bytes landed", [f"{lake.written / max(lake.landed, 1):.1f}" for lake in self.lakes]
        yield "query over sales at the end, s", [f"{lake.query_seconds:.2f}" for lake in self.lakes]

    def _costs(self) -> Iterator[str]:
        """What was written and is opened of each table, as shares of its rows in a file alone."""
        heads = [f"{what}, {lake.name}" for what in ("written", "opened") for lake in self.lakes]
        yield f"| table | MB alone | {' | '.join(heads)} |"
        yield f"|---|--:|{'--:|' * len(heads)}"
        for costs in zip(*(lake.tables for lake in self.lakes), strict=True):
            shares = [getattr(cost, what) / max(cost.rows, 1) for what in ("written", "opened") for cost in costs]
            cells = [costs[0].table, f"{costs[0].rows / 1e6:.2f}", *(f"{share:,.1f}" for share in shares)]
            yield f"| {' | '.join(cells)} |"


_SERVICES = "seconds of services"
_SERIES: Mapping[str, Callable[[Sample], float]] = {
    "data files": lambda sample: sample.files,
    "commits on the timelines": lambda sample: sample.commits,
    "MB": lambda sample: sample.bytes / 1e6,
    "seconds a batch": lambda sample: sample.seconds,
    _SERVICES: lambda sample: sample.service_seconds,
    "MB of memory": lambda sample: sample.memory_mb,
}


def draw(days: Mapping[str, Sequence[Sample]], file: Path) -> None:
    """The days as small charts, one for each series, with a line for each lake by its name."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6), layout="constrained")
    for number, (what, read) in enumerate(_SERIES.items(), start=1):
        axes = figure.add_subplot(2, 3, number)
        for name, samples in days.items():
            hours = [5 * n / 60 for n in range(1, len(samples) + 1)]
            axes.plot(hours, [read(sample) for sample in samples], label=name, linewidth=1)
        axes.set_title(what, fontsize=10)
        axes.set_xlabel("hours")
        axes.set_ylim(bottom=0)
        axes.grid(visible=True, alpha=0.3)
        if number == 1:
            axes.legend(fontsize=8)
    figure.savefig(file, metadata={"Date": None})


def read_day(fields: Mapping[str, Any]) -> Day:
    """What was kept in ``day.json``."""
    lakes = [Lake(**{**lake, "tables": [TableCost(**cost) for cost in lake["tables"]]}) for lake in fields["lakes"]]
    beside = [Beside(**{**each, "work": [Work(**work) for work in each["work"]]}) for each in fields.get("beside", [])]
    return Day(**{**fields, "lakes": lakes, "beside": beside})
