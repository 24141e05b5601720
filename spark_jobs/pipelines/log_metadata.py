"""What the log knows of its sources, columns and files, changed without an event: a commit without a row."""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.context import AnyContext
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.sources.discovery import checkpoints
from spark_jobs.storage.layouts import log_layout
from spark_jobs.storage.reader import read_stored
from spark_jobs.storage.recovery import check_still
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit


def commit_log_metadata(context: AnyContext, known: Mapping[str, str], log_timeline: Timeline) -> TableOutcome:
    """Commit ``known``, by its keys in commits, with the checkpoints as they were.

    The caller holds the lease of the log, whose settled timeline is given.

    Raises:
        TransientError: another writer was at work.
    """
    check_still(log_timeline)
    nothing_df = read_stored(context.spark, log_timeline.path).limit(0)
    metadata = {**checkpoints(log_timeline), **known}
    done = commit(nothing_df, log_layout(context.spec), metadata=metadata, settings=context.settings)
    return TableOutcome(table=context.spec.log, instant=done.instant, rows=0, is_committed=True)
