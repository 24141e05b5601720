"""What ``table list``, ``table show``, ``table timeline`` and ``explain`` print, by the read model of the lake."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from spark_jobs.contracts.text_table import format_table
from spark_jobs.lake_spec.described import Described
from spark_jobs.overview.models import CommitOverview, LakeOverview, RunOverview, TableDetail
from spark_jobs.overview.states import state_of
from spark_jobs.sql_analysis.column_readers import ColumnReader
from spark_jobs.sql_analysis.lineage import ColumnInput

_LIST = ("table", "kind", "newest change", "commits", "files", "MB", "state")
_STEPS = ("instant", "what", "state", "rows", "MB", "seconds")
_MB = 1024 * 1024


def lake_lines(seen: LakeOverview) -> Iterator[str]:
    """All tables of a lake."""
    rows = [
        (
            each.name,
            each.kind,
            each.last or "-",
            each.commits,
            each.files.files,
            _mb(each.files.bytes),
            state_of(each, seen.now)[1],
        )
        for each in seen.tables
    ]
    yield format_table(_LIST, rows)
    if seen.source_problem:
        yield f"what was delivered could not be looked at: {seen.source_problem}"


def table_lines(seen: TableDetail, about: Described, now: datetime) -> Iterator[str]:
    """One table: what it is, its columns, who reads it, its partitions."""
    table = seen.table
    files = table.files
    words = (("description", about.description), ("owner", about.owner), ("tags", ", ".join(about.tags)))
    facts = [
        *((name, text) for name, text in words if text),
        ("kind", f"{table.kind}{f' of layer {table.layer}' if table.layer else ''}"),
        ("state", state_of(table, now)[1]),
        ("newest change", table.last or "-"),
        ("newest commit", table.newest or "-"),
        ("made of", ", ".join(table.reads) or "-"),
        ("files", f"{files.base_files} base files, {files.log_files} log files, {_mb(files.bytes)} MB"),
        ("partitions", str(files.partitions)),
    ]
    if table.freshness:
        facts.append(("newest event", _time(table.freshness.newest_event)))
    if table.held:
        facts += [("held back for", reason) for reason in table.held.reasons]
    yield format_table(("", table.name), facts)
    yield from _part("columns", ("column", "type"), seen.columns)
    places = [(each.consumer, each.checkpoint, each.behind, each.state) for each in table.consumers]
    yield from _part("readers", ("consumer", "checkpoint", "commits behind", "state"), places)
    changed = [
        (
            each.instant,
            ", ".join(name for name, _ in each.added) or "-",
            ", ".join(each.removed) or "-",
            ", ".join(f"{name} {before} to {after}" for name, before, after in each.retyped) or "-",
        )
        for each in seen.schema_steps
    ]
    yield from _part("columns changed", ("instant", "added", "removed", "other type"), changed)


def column_lines(
    facts: Mapping[str, str], inputs: Sequence[ColumnInput], readers: Sequence[ColumnReader]
) -> Iterator[str]:
    """One column: what it is, the columns whose values are in it, and who reads it."""
    made_of = ", ".join(f"{each.table}.{each.column}{' at the source' * each.is_source}" for each in inputs)
    yield format_table(("", facts["column"]), [("type", facts["type"]), ("made of", made_of or "-")])
    read = [(each.name, each.kind, each.column or "names it alone", each.reads) for each in readers]
    yield from _part("read by", ("reader", "kind", "has it as", "reads"), read)


def step_lines(steps: Sequence[CommitOverview]) -> Iterator[str]:
    """Steps of a timeline, oldest first."""
    yield format_table(_STEPS, list(map(_step, steps)))


def run_lines(seen: RunOverview) -> Iterator[str]:
    """What one run read, wrote and held back."""
    yield f"{seen.commit.table}: {seen.commit.operation or seen.commit.action} at {seen.commit.instant}"
    if task := seen.commit.task:
        yield f"by task {task.task_id} of {task.dag_id}, run {task.run_id}"
    yield from _part(
        "read", ("source", "after", "up to"), [(e.source, e.after or "the beginning", e.up_to) for e in seen.read]
    )
    written = [seen.commit, *seen.beside]
    kinds = ["added", "changed", "removed", *(["upserted"] if any(each.upserted for each in written) else [])]
    rows = [(each.table, each.instant, *(getattr(each, kind) for kind in kinds)) for each in written]
    yield from _part("wrote", ("table", "instant", *kinds), rows)
    if outcome := seen.commit.outcome:
        yield from _part("its gate", ("rows", "number"), list(outcome.rows.items()))
        failed = [(each.expectation, each.observed, str(each.outcome)) for each in outcome.not_held]
        yield from _part("expectations that failed", ("expectation", "observed", "outcome"), failed)
    held = [(each.table, each.since, "; ".join(each.reasons)) for each in seen.held]
    yield from _part("held back", ("table", "since", "reasons"), held)


def _step(each: CommitOverview) -> tuple[Any, ...]:
    what = each.service or each.operation or each.action
    seconds = "-" if each.seconds is None else f"{each.seconds:.1f}"
    return each.instant, f"{each.kind}: {what}", each.state, each.rows, _mb(each.bytes), seconds


def _part(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    if made := list(rows):
        yield f"\n{title}"
        yield format_table(header, made)


def _mb(size: int) -> str:
    return f"{size / _MB:,.1f}"


def _time(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S") if moment else "-"
