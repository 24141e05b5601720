"""With which definition the rows of a merged table were made: kept with its commits, compared with the files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from spark_jobs.contracts.job_errors import DefinitionChangedError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.definitions import fixed_parts, table_parts
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.marts.definitions import DECLARED
from spark_jobs.storage.forms import TableForm
from spark_jobs.storage.layouts import history_layout, table_layout
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline


def declared_form(table: TableSpec, spec: LakeSpec) -> dict[str, str]:
    """For the commit of a table, what the files say of it."""
    return {DECLARED: json.dumps(table_parts(table, spec), sort_keys=True)}


def stored_form(timeline: Timeline) -> Mapping[str, str] | None:
    """What the files declared when the table was last committed; None when its commits do not record it."""
    text = timeline.newest_metadata(METADATA_PREFIX + DECLARED)
    form: Mapping[str, str] | None = json.loads(text) if text else None
    return form


def fixed_changes(table: TableSpec, spec: LakeSpec, timeline: Timeline) -> tuple[str, ...]:
    """The parts of a table that the files have changed and that concern stored rows, as its commits record.

    ``timeline`` is that of the table, or of its history, which is of the same definition.
    """
    stored = stored_form(timeline)
    return fixed_parts(stored, table_parts(table, spec)) if stored is not None else ()


def blocking_changes(table: TableSpec, spec: LakeSpec, timelines: Iterable[Timeline]) -> tuple[str, ...]:
    """Why nothing may be written to a table and its history until the table was rebuilt; nothing when it may.

    Where the commits record no change, what counts is the form on storage: a rebuild that was killed may have named
    another one, and a table of an earlier release has nothing else.
    """
    made = [timeline for timeline in timelines if timeline.last]
    recorded = dict.fromkeys(part for timeline in made for part in fixed_changes(table, spec, timeline))
    found = [(TableForm.stored(timeline), _form_of(table, timeline)) for timeline in made]
    forms = dict.fromkeys(part for was, now in found if was for part in was.changes(now))
    return (*recorded, *(part for part in forms if part == "type" or not recorded))


def check_tables(spec: LakeSpec, settings: Settings) -> None:
    """Raise DefinitionChangedError when the files define one of the tables otherwise than its rows."""
    changed = {}
    for table in spec.tables:
        names = [table.name, *([table.history_name] if table.history else [])]
        timelines = [Timeline(table=name, path=settings.table_path(name)) for name in names]
        if parts := blocking_changes(table, spec, timelines):
            changed[table.name] = parts
    if changed:
        raise DefinitionChangedError(changed=changed)


def _form_of(table: TableSpec, timeline: Timeline) -> TableForm:
    is_history = table.history and timeline.table == table.history_name
    return TableForm.of(history_layout(table) if is_history else table_layout(table))
