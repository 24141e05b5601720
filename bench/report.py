"""What benchmark runs found, as numbers and as one page; pure, so it needs no engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from bench.day_report import Day, read_day
from bench.sizes_report import Sizes, read_sizes

MET, NOT_MET = "met", "not met"
_SMALL = 0.1
"""Ratios below this are written with one digit more."""
_MUCH = 0.1
"""Of the processors' time, from which on other work had a part of the machine that is seen in seconds."""
_SHARED = " **The machine was shared with other work: seconds are too many, ratios and counts are what to look at.**"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """When and where a part ran: load averages over 1, 5 and 15 minutes before and after it."""

    started_at: str
    cores: int
    load_at_start: Sequence[float]
    load_at_end: Sequence[float]
    others: float | None = None
    """Of all processors' time meanwhile, what other processes took; None in results of before it was measured."""

    def describe(self) -> str:
        """One line for the page."""
        line = (
            f"Started {self.started_at} on {self.cores} cores; load average (1, 5, 15 minutes) at the start "
            f"{_loads(self.load_at_start)}, at the end {_loads(self.load_at_end)}."
        )
        if self.others is None:
            return line
        return f"{line} Other work took {self.others:.0%} of the processors." + (_SHARED if self.others > _MUCH else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """Contenders timed in turn in one session: seconds of each timed round by contender.

    A ratio is the median of ``subject`` divided by that of another one; ``aims`` says what it should be at most.
    """

    title: str
    method: str
    subject: str
    aims: Mapping[str, float]
    rows_scale: float
    warm_ups: int
    seconds: Mapping[str, Sequence[float]]
    differing_tables: Mapping[str, Sequence[str]]
    """By contender that keeps rows: tables whose rows are not those of the first such contender."""
    notes: Sequence[str] = ()
    read_mb: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """MB that each timed round read, by contender; empty when it was not counted."""
    upkeep: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Seconds of the maintenance after each timed round, by contender; empty when there is none."""

    def __post_init__(self) -> None:
        if len({len(rounds) for rounds in self.seconds.values()}) != 1 or not self.rounds:
            raise ValueError("every contender needs the same number of timed rounds, at least one")

    @property
    def rounds(self) -> int:
        """Timed rounds."""
        return len(next(iter(self.seconds.values())))

    @property
    def ratios(self) -> dict[str, float]:
        """The subject's median divided by that of each other contender; empty when it did not take part."""
        medians = {name: median(rounds) for name, rounds in self.seconds.items()}
        subject = medians.pop(self.subject, None)
        return {} if subject is None else {name: subject / other for name, other in medians.items()}

    @property
    def slowest(self) -> float:
        """The slowest round of the subject, with the maintenance after it, by the median of the rounds alone.

        KeyError when it did not take part.
        """
        rounds = self.seconds[self.subject]
        upkeep = self.upkeep.get(self.subject, [0.0] * len(rounds))
        return max(map(sum, zip(rounds, upkeep, strict=True))) / median(rounds)

    @property
    def read(self) -> dict[str, float]:
        """Median MB that a round read, by contender."""
        return {name: median(megabytes) for name, megabytes in self.read_mb.items()}

    @property
    def disagreements(self) -> list[str]:
        """The contenders that keep rows and did not end with the same ones as the first of them, and where."""
        return [f"{name} ({', '.join(tables)})" for name, tables in self.differing_tables.items() if tables]

    def lines(self) -> Iterator[str]:
        """Its section of the page."""
        if self.rows_scale != 1:
            yield f"**A trial with {self.rows_scale:g} times the rows: its ratios say nothing about the workload.**"
            yield ""
        yield f"| contender | median s | fastest s | slowest s | {self.subject} / it | aim | |"
        yield "|---|--:|--:|--:|--:|--:|---|"
        ratios = self.ratios
        for name, rounds in self.seconds.items():
            times = f"{median(rounds):.2f} | {min(rounds):.2f} | {max(rounds):.2f}"
            yield f"| {name} | {times} | {_cells(ratios.get(name), self.aims.get(name))} |"
        yield from ("", f"Medians of {self.rounds} rounds after {self.warm_ups} warm-up rounds.", self._rows_line())
        if self.read_mb:
            yield from ("", f"Read a round: {', '.join(f'{name} {mb:,.0f} MB' for name, mb in self.read.items())}.")
        for note in self.notes:
            yield from ("", note)

    def _rows_line(self) -> str:
        if len(self.differing_tables) < 2:
            return "Rows were not compared: fewer than two contenders that keep the same rows took part."
        if not self.disagreements:
            return f"After the last round the rows of all tables were the same in: {', '.join(self.differing_tables)}."
        first = next(iter(self.differing_tables))
        return f"**Rows differ from those of {first}: {'; '.join(self.disagreements)}. The times are not comparable.**"


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How the subject's median grows from the smallest history to the largest, and the most it should be."""

    smallest: int
    largest: int
    ratio: float
    aim: float
    of: str = "events"
    """What there is more of."""

    @classmethod
    def between(cls, medians: Mapping[int, float], aim: float, of: str = "events") -> Growth | None:
        """From medians by size; None with fewer than two sizes."""
        smallest, largest = min(medians), max(medians)
        if smallest == largest:
            return None
        return cls(smallest=smallest, largest=largest, ratio=medians[largest] / medians[smallest], aim=aim, of=of)


@dataclass(frozen=True, slots=True, kw_only=True)
class Races:
    """Races under one title, such as one at several sizes of the history; ``method`` is that of all."""

    title: str
    method: str
    races: Sequence[Race]
    growth: Growth | None = None

    @property
    def disagreements(self) -> list[str]:
        """Those of every race."""
        return [f"{race.title}: {found}" for race in self.races for found in race.disagreements]

    def lines(self) -> Iterator[str]:
        """Its section of the page."""
        for number, race in enumerate(self.races):
            yield from (*([""] if number else []), f"### {race.title}", "", *race.lines())
        if growth := self.growth:
            yield from ("", "| growth | measured | aim | |", "|---|--:|--:|---|")
            what = f"{self.races[0].subject}, {growth.largest:,} / {growth.smallest:,} {growth.of}"
            yield f"| {what} | {_cells(growth.ratio, growth.aim)} |"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Some measured numbers; ``unit`` is written after them.

    ``aims`` says of some what they should be at most, ``least`` of some what they should be at least.
    """

    title: str
    method: str
    what: str
    unit: str
    values: Mapping[str, float]
    aims: Mapping[str, float]
    least: Mapping[str, float] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def lines(self) -> Iterator[str]:
        """Its section of the page."""
        yield f"| {self.what} | measured | aim | |"
        yield "|---|--:|--:|---|"
        unit = f" {self.unit}" if self.unit else ""
        for name, value in self.values.items():
            aim, least = self.aims.get(name), self.least.get(name)
            cells = f"{format_figure(value)}{unit} |"
            if aim is not None:
                cells += f" {format_figure(aim)}{unit} | {verdict(value, aim)}"
            elif least is not None:
                cells += f" at least {format_figure(least)}{unit} | {verdict(value, least, at_least=True)}"
            else:
                cells += " |"
            yield f"| {name} | {cells} |"
        for note in self.notes:
            yield from ("", note)


Found = Race | Races | Figures | Day | Sizes


def to_json(found: Found, conditions: Conditions) -> dict[str, Any]:
    """Everything, for ``<part>.json``."""
    return {"kind": type(found).__name__, "conditions": asdict(conditions), "found": asdict(found)}


def read_found(document: Mapping[str, Any]) -> Found:
    """What a part found, from its ``<part>.json``."""
    return _READ[document["kind"]](document["found"])


def render_page(documents: Sequence[Mapping[str, Any]], first: Sequence[str] = ()) -> str:
    """``README.md`` of the results: the lines of ``first``, then the parts' files in the order given."""
    lines = ["# Benchmarks", "", "Made by `make bench`; all rounds are in the files beside this page.", *first]
    for document in documents:
        found = read_found(document)
        lines += ["", f"## {found.title}", "", *found.lines(), "", Conditions(**document["conditions"]).describe()]
        lines += ["", found.method.strip()]
    return "\n".join(lines) + "\n"


def _read_races(fields: Mapping[str, Any]) -> Races:
    growth = Growth(**fields["growth"]) if fields["growth"] else None
    return Races(**{**fields, "races": [Race(**race) for race in fields["races"]], "growth": growth})


_READ: Mapping[str, Callable[[Mapping[str, Any]], Found]] = {
    "Race": lambda fields: Race(**fields),
    "Races": _read_races,
    "Figures": lambda fields: Figures(**fields),
    "Day": read_day,
    "Sizes": read_sizes,
}


def verdict(value: float, aim: float, *, at_least: bool = False) -> str:
    """Whether a number is as small, or as large, as it is to be, in words."""
    return MET if (value >= aim if at_least else value <= aim) else NOT_MET


def format_figure(value: float) -> str:
    """A number with two digits after the point, three when it is small, none when it is a whole one."""
    return f"{value:,.0f}" if value == round(value) else _ratio(value)


def _cells(ratio: float | None, aim: float | None) -> str:
    if ratio is None:
        return "| |"
    if aim is None:
        return f"{_ratio(ratio)} | |"
    return f"{_ratio(ratio)} | {aim:g} | {verdict(ratio, aim)}"


def _ratio(ratio: float) -> str:
    return f"{ratio:.{2 if ratio >= _SMALL else 3}f}"


def _loads(loads: Sequence[float]) -> str:
    return " / ".join(f"{load:.2f}" for load in loads)
