"""All rows of a table replaced in one commit, by rows that may have another record key."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.forms import KEY_BEFORE, REBUILT, TableForm, name_record_key
from spark_jobs.storage.layouts import TableLayout
from spark_jobs.storage.options import Operation
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import Commit, commit


def replace_rows(
    rows_df: DataFrame,
    layout: TableLayout,
    timeline: Timeline,
    *,
    what_for: str,
    metadata: Mapping[str, str],
    settings: Settings,
) -> Commit:
    """Put rows in the place of all that a keyed table has. Readers see the rows of before, or these.

    The caller holds its lease and that of its services, and carried out what they had planned: what a plan is of would
    be gone. ``layout`` may have another record key than the table; it is named first, which changes nothing for
    readers. A run that dies after that is run again, or what it named is put back.

    Raises:
        ContractError: the table has another type, or is partitioned where the layout is not, or the other way.
    """
    now = TableForm.of(layout)
    before = TableForm.stored(timeline) or now
    if other := [part for part in before.changes(now) if part != "key"]:
        raise ContractError(
            f"{layout.name}: its {' and '.join(other)} cannot change while it has rows; declare a table under a new "
            f"name, which the next run fills from its source, and point readers at that"
        )
    if before.record_key != now.record_key:
        name_record_key(timeline.path, now.record_key)
    return commit(
        rows_df,
        layout,
        metadata={**metadata, REBUILT: what_for, KEY_BEFORE: before.record_key},
        settings=settings,
        operation=Operation.INSERT_OVERWRITE_TABLE,
        may_drop_columns=True,
    )
