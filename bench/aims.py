"""The aims of the benchmark in one table: what was measured first, what is measured now, and what it should be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench import (
    cluster,
    day_beside,
    first_load,
    growth,
    kafka,
    landing,
    mirrors,
    sizes,
    slow,
    stitch,
    through_airflow,
    workload,
)
from bench.day_report import BESIDE_AIM, Day
from bench.mart_refreshers import OursInFull
from bench.report import MET, Figures, Race, Races, format_figure, read_found, verdict
from bench.sizes_report import Sizes

ADRS = Path(__file__).parents[1] / "docs" / "adr"
FIRST = "2026-11-28"
"""When the figures of before were measured, on the code for which the aims were set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """A figure with what it was at first, and what it should be: at most, or at least.

    ``read`` finds it in what the part found; LookupError when it is not there. ``limits`` is the number of the ADR that
    has the measurement of what limits it.
    """

    figure: str
    part: str
    read: Callable[[Any], float]
    aim: float
    limits: int
    before: str = ""
    is_least: bool = False

    def cells(self, found: Any | None) -> Iterator[str]:
        """Its row of the table."""
        yield from (self.figure, self.before)
        aim = f"{'at least ' if self.is_least else ''}{format_figure(self.aim)}"
        try:
            value = self.read(found) if found is not None else None
        except LookupError:
            value = None
        if value is None:
            yield from (f"not measured: `python -m bench {self.part}`", aim, "", "")
        else:
            is_met = verdict(value, self.aim, at_least=self.is_least)
            yield from (format_figure(value), aim, is_met, "" if is_met == MET else _link(self.limits))


def aims_section(documents: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The page's first section, of the parts' files by part."""
    found = {part: read_found(document) for part, document in documents.items()}
    yield from ("", "## Aims", "", f"| figure | {FIRST} | now | aim | | what limits it |")
    yield "|---|--:|--:|--:|---|---|"
    for aim in AIMS:
        yield f"| {' | '.join(aim.cells(found.get(aim.part)))} |"
    yield from (
        "",
        "How each figure is measured, and on which day it was, is below. A / B is a ratio of seconds.",
    )


def _link(number: int) -> str:
    """To the ADR of this number, from the page of results."""
    (name,) = (path.name for path in ADRS.glob(f"{number:04}-*.md"))
    return f"[ADR {number}](../../docs/adr/{name})"


def _titled(races: Races, title: str) -> Race:
    """KeyError when there is no such race."""
    return {race.title: race for race in races.races}[title]


def _ratio(name: str) -> Callable[[Race], float]:
    """The subject's seconds by those of another contender."""
    return lambda race: race.ratios[name]


def _rate(name: str) -> Callable[[Race], float]:
    """Rows a second of the subject by those of another contender, which gets the same rows."""
    return lambda race: 1 / race.ratios[name]


def _first(read: Callable[[Race], float]) -> Callable[[Races], float]:
    return lambda races: read(races.races[0])


def _grown(title: str) -> Callable[[Races], float]:
    """The larger tables' seconds by those of the smaller ones."""
    _, smaller, _ = growth.RACES[title]
    return lambda races: _titled(races, title).ratios[smaller]


def _read_grown(races: Races) -> float:
    _, smaller, larger = growth.RACES[growth.HUNDREDFOLD]
    megabytes = _titled(races, growth.HUNDREDFOLD).read
    return megabytes[larger] / megabytes[smaller]


def _worst(figures: Figures) -> float:
    return max(figures.values.values())


def _value(name: str) -> Callable[[Figures], float]:
    return lambda figures: figures.values[name]


def _weight(name: str) -> Callable[[Sizes], float]:
    return lambda found: found.figures[name]


def _in_full(events: int) -> Callable[[Races], float]:
    """An increment by a full refresh of a history of so many events."""
    return lambda races: _titled(races, f"{events:,} events").ratios[OursInFull.name]


def _seconds_a_table(race: Race) -> float:
    """Of `ingest` and of one `split` for all tables, whose number is the first word of the title."""
    tables = int(race.title.split()[0].replace(",", ""))
    return sum(median(race.seconds[name]) for name in (mirrors.INGEST, mirrors.TOGETHER)) / tables


def _of_w1() -> Iterator[Aim]:
    for (name, aim), before in zip(workload.W1_AIMS.items(), ("0.90", "0.23", "3.3"), strict=True):
        yield Aim(figure=f"W1 / {name}", part="w1", limits=67, read=_ratio(name), aim=aim, before=before)
    slowest = "W1, slowest round / median"
    yield Aim(
        figure=slowest, part="w1", limits=67, read=lambda race: race.slowest, aim=workload.SLOWEST_AIM, before="1.9"
    )


def _of_growth() -> Iterator[Aim]:
    before = {growth.TENFOLD: "2.4"}
    for title, aim in growth.AIMS.items():
        yield Aim(figure=title, part="growth", limits=70, read=_grown(title), aim=aim, before=before.get(title, ""))
    figure = f"{growth.HUNDREDFOLD}: bytes read"
    yield Aim(figure=figure, part="growth", limits=70, read=_read_grown, aim=growth.READ_AIM, before="about 100")
    figure = f"Seconds an event, worst size of a batch / best, from {growth.LARGE:,} events on"
    yield Aim(figure=figure, part="batches", limits=67, read=_worst, aim=growth.BATCH_AIM)


def _of_ingest() -> Iterator[Aim]:
    figure, of_kafka = "Kafka to the log, rate / `from_json` to Parquet", _first(_rate(kafka.COLUMNS))
    yield Aim(figure=figure, part="kafka", limits=66, read=of_kafka, aim=kafka.RATE_AIM, before="0.20", is_least=True)
    figure, of_files = "First load, rate / `from_json` to Parquet", _rate(first_load.COLUMNS)
    yield Aim(figure=figure, part="first-load", limits=66, read=of_files, aim=first_load.RATE_AIM, is_least=True)


def _of_landing() -> Iterator[Aim]:
    before = {"ingest": "15", "split": "28", "stitch": "11", "slow": "76"}
    limits = {"ingest": 57, "split": 67, "stitch": 68, "slow": 67}
    for run, aim in landing.JOBS_AIMS.items():
        name = landing.jobs_of(run)
        yield Aim(figure=name, part="landing", limits=limits[run], read=_value(name), aim=aim, before=before[run])
    figure, share = "Landing to tables, processors' time in tasks", _value(landing.share_of(*landing.TO_TABLES))
    yield Aim(
        figure=figure, part="landing", limits=67, read=share, aim=landing.WORK_AIM, before="0.1 to 0.18", is_least=True
    )


def _of_marts() -> Iterator[Aim]:
    before = {10_000_000: "0.13"}
    for events, aim in stitch.AIMS.items():
        figure = f"Stitch layer, {events:,} events, increment / everything"
        yield Aim(
            figure=figure, part="stitch", limits=68, read=_in_full(events), aim=aim, before=before.get(events, "")
        )
    read = _first(_ratio(OursInFull.name))
    yield Aim(figure="Slow layer, a month / everything", part="slow", limits=68, read=read, aim=slow.AIM, before="0.24")


def _beside(start: str) -> Callable[[Day], float]:
    """KeyError when the day was run alone."""
    return lambda day: {each.start: each.ratio for each in day.beside}[start]


def _of_lakes() -> Iterator[Aim]:
    start = day_beside.NEW
    figure = f"A day of {start} with services, processor seconds / Iceberg merge-on-read with its own maintenance"
    yield Aim(figure=figure, part="day", limits=70, read=_beside(start), aim=BESIDE_AIM)
    figure = f"{mirrors.TABLES} mirrors, seconds a table"
    yield Aim(figure=figure, part="mirrors", limits=67, read=_seconds_a_table, aim=mirrors.TABLE_AIM, before="2.0")
    read = _weight(sizes.WRITTEN_A_YEAR)
    yield Aim(figure=sizes.WRITTEN_A_YEAR, part="sizes", limits=49, read=read, aim=sizes.WRITTEN_AIM, before="285")
    figure, read_race = "Through Airflow / the jobs alone", _ratio(through_airflow.ALONE)
    yield Aim(figure=figure, part="airflow", limits=69, read=read_race, aim=through_airflow.AIM)
    figure, rate = "Split of a large batch, two workers' rate / one's", _rate(cluster.ONE)
    yield Aim(figure=figure, part="cluster", limits=60, read=rate, aim=cluster.AIM, is_least=True)


AIMS = (*_of_w1(), *_of_growth(), *_of_ingest(), *_of_landing(), *_of_marts(), *_of_lakes())
