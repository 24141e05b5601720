"""The tables that `sizing` prints, for people and for docs/sizing.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from spark_jobs.contracts.text_table import format_table
from spark_jobs.lake_spec.services import ServiceTargets
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.sizing.files import MB
from spark_jobs.sizing.hashing import unevenness
from spark_jobs.sizing.limits import warnings
from spark_jobs.sizing.load import GB, Load
from spark_jobs.sizing.needs import CORE_GB, CORES, Needs
from spark_jobs.sizing.ranges import Ranges, ranged_targets, simulate_ranges
from spark_jobs.sizing.simulation import Advice, Outcome, buckets_for, growing_tables, simulate
from spark_jobs.sizing.weights import Weights

SKEWS = (1.5, 2.0, 3.0)
BUCKETS = (2, 8, 16, 30, 31, 32, 37, 64, 67, 128, 131, 256, 257, 1024, 1031)
AGES = (60, 120, 240, 480, 720, 1440, 2880)
_LARGE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A table, and sentences below it."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def as_text(self) -> str:
        """For a terminal."""
        return "\n".join([self.title, "", format_table(self.head, self.rows), *(f"  ! {note}" for note in self.notes)])

    def as_markdown(self) -> str:
        """For a page, without its title."""
        lines = [f"| {' | '.join(self.head)} |", "|---" + "|--:" * (len(self.head) - 1) + "|"]
        lines += [f"| {' | '.join(row)} |" for row in self.rows]
        return "\n".join([*lines, *(["", *(f"* {note}" for note in self.notes)] if self.notes else [])])


def what_to_set(loads: Sequence[Load], spec: LakeSpec, *, day: int) -> Sheet:
    """Settings and needs on the last day, a column for each load."""
    found = [_needs(load, spec, Advice(is_followed=True), day) for load in loads]
    rows: list[tuple[str, ...]] = []
    for label, value in _CELLS.items():
        rows.append((label, *map(value, found)))
    targets = [_advised(load, spec, day) for load in loads]
    rows.append(("`compact_most_minutes`", *(_whole(each.compact_most_minutes) for each in targets)))
    rows.append(("`compact_log_files`", *(_whole(each.compact_log_files) for each in targets)))
    for table in growing_tables(loads[0], spec):
        ends = [load.table(load.weights.tables[table.name], day=day) for load in loads]
        buckets = [buckets_for(end, each) for end, each in zip(ends, targets, strict=True)]
        rows.append((f"{table.name}: `buckets`", *map(_whole, buckets)))
    heads = [f"{_gb(load)} a day, every {load.batch_minutes} min" for load in loads]
    return Sheet(title=f"What to set for {day} days", head=("", *heads), rows=rows)


def files_over_time(load: Load, spec: LakeSpec, *, days: Sequence[int], advice: Advice) -> Sheet:
    """Files and bytes at the end of each day, and what is wrong with them on the last one."""
    found = list(simulate(load, spec, days=days, advice=advice))
    last = Needs.of(load, [each for each in found if each.day == max(days)], spec.log)
    how = "as advised" if advice.is_followed else "as shipped"
    return Sheet(
        title=f"{_gb(load)} a day, every {load.batch_minutes} minutes, {how}",
        head=_OUTCOME_HEAD,
        rows=[_outcome(each, load) for each in found],
        notes=list(warnings(last)),
    )


def in_ranges(loads: Sequence[Load], spec: LakeSpec, *, day: int) -> Sheet:
    """The largest table in ranges of its key, by how fast events turn to newer keys, and what to declare for it."""
    rows, notes = list[tuple[str, ...]](), list[str]()
    for load in loads:
        table = spec.table(_largest(load, spec))
        weight, targets = load.weights.tables[table.name], ranged_targets(spec.targets(table.name), load)
        ranges = Ranges.advised(load.table(weight, day=day), targets)
        for skew in SKEWS:
            skewed = replace(load, skew=skew)
            found = simulate_ranges(skewed, weight, targets, ranges, day)
            cells = (found.groups, skewed.table(weight, day=day).touched(found.groups), found.touched)
            files = (found.log_files, found.live_files, found.newest_files, found.most_files)
            times = (_times(found.written, load), _times(found.written_so_far / day, load))
            load_cells = (f"{_gb(load)}, every {load.batch_minutes} min", f"{skew:g}")
            rows.append((*load_cells, *map(_whole, (*cells, *files)), *(f"{each:.1f}" for each in times)))
        width = ranges.width(load.table(weight, day=day))
        notes.append(
            f"{_gb(load)}: {table.name} with partition: {table.key[0]}, transform: truncate, width: {width}, "
            f"buckets: {ranges.buckets}; in services bucket_mb: {targets.bucket_mb}, compact_minutes: "
            f"{targets.compact_minutes}, compact_most_minutes: {targets.compact_most_minutes}, compact_log_files: "
            f"{targets.compact_log_files}"
        )
    return Sheet(
        title=f"{_largest(loads[0], spec)} in ranges of its key, {day} days", head=_RANGES_HEAD, rows=rows, notes=notes
    )


def freshness(loads: Sequence[Load], spec: LakeSpec, *, day: int) -> Sheet:
    """What it costs, in all days up to this one, that base files lack no older write, and what it spares readers."""
    rows = []
    for load in loads:
        for minutes in AGES:
            most = max(spec.services.compact_log_files, minutes // load.batch_minutes)
            targets = replace(
                spec.services, compact_minutes=min(60, minutes), compact_most_minutes=minutes, compact_log_files=most
            )
            outcomes = list(simulate(load, _with_all(spec, targets), days=[day], advice=Advice()))
            largest = next(each for each in outcomes if each.table == _largest(load, spec))
            times = [_times(each.written_so_far / day, load) for each in (*outcomes, largest)]
            found = (
                f"{sum(times[:-1]):.1f}",
                f"{times[-1]:.1f}",
                _whole(largest.log_files),
                _whole(largest.live_files),
            )
            rows.append((_gb(load), _whole(minutes), *found))
    head = (
        *("load", "`compact_most_minutes`", "written / landed since day 1", "of that, the largest table"),
        *("log files over its base files", "files a reader of it opens"),
    )
    return Sheet(title=f"What fresher base files cost in {day} days, as shipped", head=head, rows=rows)


def weighed(weights: Weights) -> Sheet:
    """The measured inputs, with the symbols of docs/sizing.md."""
    gb = 1024**3
    rows = [
        ("`e`", "bytes of an event in landing files, plain JSON", f"{weights.landing:,.0f}"),
        ("`e_gzip`", "the same, gzip", f"{weights.landing_gzip:,.0f}"),
        ("`l`", "bytes of an event in the log, clustered", f"{weights.log:.1f}"),
        ("`x`", "bytes of the row index an event", f"{weights.index:.1f}"),
        ("`f`", "bytes of the change feed an event", f"{weights.feed:.1f}"),
        (
            "`c_run`",
            "processor s of ingest and split, whatever they take in",
            f"{weights.ingest_run + weights.split_run:.1f}",
        ),
        (
            "`c_e`",
            "processor s of ingest and split, a million events",
            f"{_micro(weights.ingest_event + weights.split_event)}",
        ),
        ("`c_c`", "processor s of compaction, a GiB", f"{weights.compaction_byte * gb:,.0f}"),
        (
            "`c_l`",
            "processor s of clustering, a GiB: reading, sorting, writing",
            f"{weights.clustering_byte * gb:,.0f}",
        ),
    ]
    for name, table in weights.tables.items():
        rows.append(
            (
                f"`r`, `b`, `g` of {name}",
                "new rows a million events; bytes of a row in base and in log files",
                f"{_micro(table.new_rows)}; {table.row_bytes:.0f}; {table.log_row_bytes:.0f}",
            )
        )
    return Sheet(title="What was measured", head=("", "what", "value"), rows=rows)


def evenness() -> Sheet:
    """How much larger the largest bucket is, by the number of buckets."""
    rows = [(str(buckets), f"{unevenness(buckets):.2f}") for buckets in BUCKETS]
    return Sheet(title="The largest bucket by the mean one", head=("buckets", "largest / mean"), rows=rows)


def _with_all(spec: LakeSpec, targets: ServiceTargets) -> LakeSpec:
    """The lake with these targets for every table that has no others but the log."""
    return replace(spec, services=targets, table_services=((spec.log, spec.targets(spec.log)),))


def _advised(load: Load, spec: LakeSpec, day: int) -> ServiceTargets:
    """Of the largest table; of all that grow and are shipped with the same."""
    return Advice(is_followed=True).targets(load, spec, _largest(load, spec), day=day)


def _largest(load: Load, spec: LakeSpec) -> str:
    """The table that gets most rows."""
    return max((t.name for t in growing_tables(load, spec)), key=lambda each: load.weights.tables[each].new_rows)


def _times(written: float, load: Load) -> float:
    """Bytes a day by those that land in it."""
    return written / (load.gb_per_day * GB)


def _needs(load: Load, spec: LakeSpec, advice: Advice, day: int) -> Needs:
    return Needs.of(load, list(simulate(load, spec, days=[day], advice=advice)), spec.log)


def _outcome(outcome: Outcome, load: Load) -> tuple[str, ...]:
    return (
        outcome.table,
        *(_whole(outcome.day), _size(outcome.bytes), _whole(outcome.groups), f"{outcome.largest_group / MB:,.0f}"),
        *map(_whole, (outcome.files_a_commit, outcome.log_files, outcome.live_files, outcome.most_files)),
        *(_whole(outcome.merges_a_day), f"{_times(outcome.written, load):.2f}"),
        *(f"{_times(outcome.written_so_far / outcome.day, load):.2f}", _whole(outcome.commits)),
    )


def _micro(number: float) -> str:
    return f"{number * 1e6:,.0f}"


def _gb(load: Load) -> str:
    return f"{load.gb_per_day / 1000:g} TB" if load.gb_per_day >= 1000 else f"{load.gb_per_day:g} GB"


def _whole(number: float) -> str:
    return f"{number:,.0f}"


def _size(size: float) -> str:
    """In GB."""
    return f"{size / GB:,.{1 if size < _LARGE * GB else 0}f}"


_OUTCOME_HEAD = (
    *("table", "day", "GB", "file groups", "largest, MB", "files a commit", "log files over a base file"),
    *("files a reader opens", "most files listed", "merges a day", "written / landed", "since day 1"),
    "commits on the timeline",
)
_RANGES_HEAD = (
    *("load", "skew", "file groups", "log files a commit, no ranges", "with ranges", "log files over a base file"),
    *("files a reader opens", "the same of the newest range", "most files listed", "written / landed", "since day 1"),
)
_CELLS: Mapping[str, Callable[[Needs], str]] = {
    "events a second, mean / peak": lambda n: (
        f"{n.load.events_a_day / 86_400:,.0f} / {n.load.events_a_day / 86_400 * n.load.peak:,.0f}"
    ),
    "events of a batch, mean / peak": lambda n: f"{n.load.batch_events:,.0f} / {n.load.peak_events:,.0f}",
    "landing GB of a peak batch": lambda n: _size(n.load.peak_events * n.load.weights.landing),
    "`LAKEHOUSE_MAX_EVENTS`": lambda n: _whole(n.max_events),
    "`LAKEHOUSE_MAX_PULL_MB`": lambda n: _whole(n.max_pull_mb),
    "cores for batches": lambda n: _whole(n.batch_cores),
    "cores for services": lambda n: _whole(n.service_cores),
    "executors": lambda n: f"{n.executors:,} of {CORES} cores, {CORES * CORE_GB} GB",
    "`LAKEHOUSE_SHUFFLE_PARTITIONS`": lambda n: _whole(n.batch_cores),
    "row index, GB": lambda n: _size(n.index_gb * GB),
    "log, GB a day": lambda n: _size(n.load.events_a_day * n.load.weights.log),
    "log, all GB": lambda n: _size(n.log.bytes),
    "log, files": lambda n: _whole(n.log.live_files),
    "log, partitions in the catalog": lambda n: _whole(n.log.day),
    "Trino splits, a day of the log": lambda n: _whole(n.log_splits_a_day),
    "Trino splits, the largest table": lambda n: _whole(n.table_splits),
    "tasks that write a commit of it": lambda n: _whole(n.largest.files_a_commit),
    "GB of a compaction of all of it": lambda n: _size(n.bytes_a_merge),
    "PUT/s to its prefix": lambda n: _whole(n.puts_a_second),
    "LIST requests of a plan of it": lambda n: _whole(max(1, n.largest.most_files / 1000)),
    "written a day / landed": lambda n: f"{n.written:.1f}",
    "the same since day 1": lambda n: f"{n.written_so_far:.1f}",
}
