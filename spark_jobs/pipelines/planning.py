"""What the files of a lake define otherwise than its tables were made; found in timelines alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime

from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.instants import NO_INSTANT
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.definitions import Parts, changed_parts, digest_of, is_rebuildable, table_parts
from spark_jobs.lake_spec.lake_plan import Action, DefinitionChange, LakePlan
from spark_jobs.lake_spec.marts import CELL_ID, MartSpec
from spark_jobs.lake_spec.rules import RuleBook
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.marts.definitions import FULL_SECONDS, definition_changes
from spark_jobs.marts.plan import newest_bytes
from spark_jobs.marts.rule_versions import edited_versions
from spark_jobs.pipelines.definitions import blocking_changes, stored_form
from spark_jobs.pipelines.merge.tables import targets_of
from spark_jobs.spec_files.rules_file import load_rules
from spark_jobs.sql_analysis.mart_sql import analyse_mart
from spark_jobs.storage.consumers import ConsumerRegistry
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.forms import TableForm
from spark_jobs.storage.layouts import TableLayout, load_layout, mart_layout, table_layout
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.savepoints import record_id
from spark_jobs.storage.timeline import Timeline

_NEW_TABLE = "put it back, or declare a table under a new name, which the next run fills from its source"
_NEW_MART = "put it back, or declare a mart under a new name, fill it, and point its readers at that"


def make_plan(spec: LakeSpec, settings: Settings, clock: datetime) -> LakePlan:
    """Compare every mart and table with the files; tables without a commit are what the files say."""
    book = load_rules(settings.rules_path) if any(mart.rules for mart in spec.marts) else None
    changes = [*_of_tables(spec, settings), *_of_marts(spec, book, settings)]
    return LakePlan(
        id=record_id("plan", clock),
        lake=spec.lake,
        made_at=format_clock(clock),
        digest=digest_of(spec, book),
        changes=tuple(changes),
    )


def _of_tables(spec: LakeSpec, settings: Settings) -> Iterator[DefinitionChange]:
    for table in spec.tables:
        timeline = _timeline(table.name, settings)
        if not timeline.last:
            continue
        stored, now = stored_form(timeline), table_parts(table, spec)
        history = [_timeline(table.history_name, settings)] if table.history else []
        fixed = blocking_changes(table, spec, [timeline, *history])
        if fixed:
            remedy = _why_not(table, timeline, stored or now, now)
            action = Action.IMPOSSIBLE if remedy else Action.REBUILD
            yield _change(timeline, spec, fixed, action, remedy)
        if later := tuple(name for name in changed_parts(stored or now, now) if name not in fixed):
            yield _change(timeline, spec, later, Action.LATER)
    for load in spec.loads:
        timeline = _timeline(load.name, settings)
        if timeline.last and (fixed := _form_changes(load_layout(load), timeline)):
            yield _change(timeline, spec, fixed, Action.IMPOSSIBLE, _NEW_TABLE)


def _why_not(table: TableSpec, timeline: Timeline, stored: Parts, now: Parts) -> str:
    """What to do in place of a rebuild, when the rows cannot take the place of those that are there; or ""."""
    form = TableForm.stored(timeline)
    if form and {"type", "partition"} & {*form.changes(TableForm.of(table_layout(table)))}:
        return _NEW_TABLE
    if not is_rebuildable(stored, now):
        return f"what was deleted is kept by the key of before: {_NEW_TABLE}"
    return ""


def _of_marts(spec: LakeSpec, book: RuleBook | None, settings: Settings) -> Iterator[DefinitionChange]:
    registry = ConsumerRegistry(settings.base_path)
    for mart in spec.marts:
        timeline = _timeline(mart.name, settings)
        if not timeline.last:
            continue
        changed = definition_changes(mart, spec, timeline, registry.read(mart.name))
        fixed = _form_changes(mart_layout(mart), timeline)
        if changed and _is_appended(timeline) is not mart.mode.traits.is_appended:
            fixed += ("mode",)  # rows of the one are found by their bucket, those of the other are in any file
        if fixed:
            yield _change(timeline, spec, fixed, Action.IMPOSSIBLE, _NEW_MART)
        elif changed:
            yield _change(timeline, spec, (*changed, *_columns(mart, spec, timeline)), Action.RECOMPUTE, "")
        for version, months in edited_versions(timeline, book).items() if mart.rules and book else ():
            remedy = f"put it back, or recompute {months[0]} to {months[-1]} of {mart.name} with --rules {version}"
            yield _change(timeline, spec, (f"rules {version}",), Action.IMPOSSIBLE, remedy)


def _columns(mart: MartSpec, spec: LakeSpec, timeline: Timeline) -> Iterator[str]:
    """Columns that come and go, by the schema in the newest commit."""
    text = timeline.newest_metadata("schema")
    if not text:
        return
    stored = {field["name"] for field in json.loads(text)["fields"]}
    stored = {name for name in stored if "__" not in name and not name.startswith("_hoodie") and name != CELL_ID}
    now = set(analyse_mart(mart, spec).columns)
    yield from (f"+{name}" for name in sorted(now - stored))
    yield from (f"-{name}" for name in sorted(stored - now))


def _form_changes(layout: TableLayout, timeline: Timeline) -> tuple[str, ...]:
    """In what the table on storage is of another form than declared, which no commit can change."""
    form = TableForm.stored(timeline)
    return form.changes(TableForm.of(layout)) if form else ()


def _is_appended(timeline: Timeline) -> bool:
    """True when the newest commit's files are of no bucket: their ids do not begin with its number."""
    stats = next(filter(None, map(timeline.file_groups_written, reversed(timeline.writes))), frozenset())
    return bool(stats) and not any(id_.startswith("0000") for id_ in stats)


def _change(
    timeline: Timeline, spec: LakeSpec, changed: tuple[str, ...], action: Action, remedy: str = ""
) -> DefinitionChange:
    partition = timeline.properties.get("hoodie.table.partition.fields", "")
    folders = [name for name in Filesystem(timeline.path).folders() if partition and name.startswith(f"{partition}=")]
    seconds = timeline.newest_metadata(METADATA_PREFIX + FULL_SECONDS)
    return DefinitionChange(
        table=timeline.table,
        changed=changed,
        action=action,
        remedy=remedy,
        instant=timeline.last or NO_INSTANT,
        rows=timeline.rows_stored,
        partitions=len(folders),
        bytes=newest_bytes(timeline.path, folders if partition else [""]),
        seconds=float(seconds) if seconds else None,
        downstream=tuple(reader.name for reader in spec.readers_of(*_written(timeline.table, spec))),
    )


def _written(name: str, spec: LakeSpec) -> list[str]:
    """What is written with a table or mart: itself, and the history of a table."""
    table = spec.find_table(name)
    return targets_of([table]) if table else [name]


def _timeline(table: str, settings: Settings) -> Timeline:
    timeline = Timeline(table=table, path=settings.table_path(table))
    timeline.check_readable()
    return timeline
