"""With which definition the rows of a merged table were made: kept with its commits, compared with the files."""

from __future__ import annotations

import json
from collections.abc import Mapping

from spark_jobs.contracts.definitions import fixed_parts, table_parts
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.contracts.table_spec import TableSpec
from spark_jobs.marts.definitions import DECLARED
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline


def declared_form(table: TableSpec, spec: LakeSpec) -> dict[str, str]:
    """For the commit of a table, what the files say of it."""
    return {DECLARED: json.dumps(table_parts(table, spec), sort_keys=True)}


def stored_form(timeline: Timeline) -> Mapping[str, str] | None:
    """What the files said when the table was committed last; None when its commits do not tell."""
    text = timeline.newest_metadata(METADATA_PREFIX + DECLARED)
    form: Mapping[str, str] | None = json.loads(text) if text else None
    return form


def fixed_changes(table: TableSpec, spec: LakeSpec, timeline: Timeline) -> tuple[str, ...]:
    """The parts of a table that the files have changed, and that cannot change while it has rows."""
    stored = stored_form(timeline)
    return fixed_parts(stored, table_parts(table, spec)) if stored is not None else ()
