"""Committing rows to a table, with a read-back before success is reported."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from spark_jobs.contracts.clocks import CommitHiddenError
from spark_jobs.contracts.errors import CommitLostError, ContractError, LakehouseError, TransientError
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.stages import STAGES, Stage
from spark_jobs.contracts.task_runs import current_task
from spark_jobs.lake_spec.partitioning import NO_FOLDER
from spark_jobs.storage.clocks import await_turn, engine_clock
from spark_jobs.storage.commit_columns import ROWS_KEY, pack_columns
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.lease import check_lease
from spark_jobs.storage.options import METADATA_PREFIX, Hudi, Operation, build_write_options
from spark_jobs.storage.timeline import Timeline

RUN_KEY = f"{METADATA_PREFIX}run"
TASK_KEY = f"{METADATA_PREFIX}task"
"""The task of Airflow that wrote it, where one did."""
BUCKETS_KEY = f"{METADATA_PREFIX}buckets"
OWN_KEYS = frozenset({RUN_KEY, TASK_KEY, BUCKETS_KEY})
"""What every commit has of its own: another commit that takes its metadata on takes these not."""
_HALF_MADE = "Could not load Hoodie properties"
_CONFLICTS = ("HoodieWriteConflictException", "HoodieLockException", "Heartbeat for instant")

_NO_FOLDER = rf"{NO_FOLDER}|^.{{200}}"
"""Of a partition's value: also what is too long for a folder's name."""
_NO_FOLDER_TEXT = "a value of the partition column cannot be a folder"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit that was read back: its instant and how many rows it wrote."""

    instant: Instant
    rows: int


def buckets_of(layout: TableLayout, timeline: Timeline) -> int:
    """How many buckets the table was made with, or last rescaled to; as declared when it has no commit."""
    return int(timeline.newest_metadata(BUCKETS_KEY) or layout.buckets)


def fit_layout(layout: TableLayout, timeline: Timeline) -> TableLayout:
    """The layout with as many buckets as the table has.

    A key's bucket is its hash modulo their number, which Hudi keeps nowhere: written with another one, old keys would
    go to other buckets and be in the table twice.
    """
    made_with = buckets_of(layout, timeline)
    if made_with < layout.buckets:
        log.info("%s: has %d buckets until 'services run' rescales it to %d", layout.name, made_with, layout.buckets)
    return replace(layout, buckets=made_with)


def commit(
    rows_df: DataFrame,
    layout: TableLayout,
    *,
    metadata: Mapping[str, str],
    settings: Settings,
    is_first: bool = False,
    operation: Operation | None = None,
    partitions: Sequence[str] = (),
    may_drop_columns: bool = False,
) -> Commit:
    """Write ``rows_df`` as one commit of the table.

    Args:
        rows_df: every column of the table; one row per record key.
        layout: the table's form on storage; says which operation it is.
        metadata: kept in the commit; keys are given without the ``lakehouse.`` prefix.
        settings: where the lake is.
        is_first: the table has no commit yet.
        operation: another one than the layout's own, to change, replace or remove rows that are there.
        partitions: the folders to remove, when that is the operation; ``rows_df`` is empty then.
        may_drop_columns: with an operation that replaces all rows, these may lack columns or have other types.

    Raises:
        CommitAheadError: the table has a commit that is later than the engine's clock.
        ContractError: a value of the partition column cannot be the name of a folder.
        TransientError: another writer won, the lease was lost, or the commit is not on the timeline afterwards.
    """
    path, run_key = settings.table_path(layout.name), uuid.uuid4().hex
    options = build_write_options(
        layout,
        parallelism=settings.shuffle_partitions,
        is_first=is_first,
        operation=operation,
        server_buckets=settings.timeline_server_buckets,
    )
    if may_drop_columns:
        options[Hudi.COLUMN_DROP] = "true"
    if partitions:
        options[Hudi.PARTITIONS_TO_DELETE] = ",".join(partitions)
    extra = {f"{METADATA_PREFIX}{key}": value for key, value in metadata.items()}
    extra[BUCKETS_KEY] = str(layout.buckets)
    if task := current_task():
        extra[TASK_KEY] = task.as_json
    check_lease(layout.name, settings)
    before = Timeline(table=layout.name, path=path)
    await_turn(before, engine_clock(rows_df.sparkSession))
    rows_df = _with_folders(rows_df, layout)
    if layout.form is StorageForm.APPENDED and operation is None:
        extra[ROWS_KEY] = pack_columns(rows_df.schema)
    try:
        with STAGES.passed(Stage.WRITE, layout.name):
            rows_df.write.format("hudi").options(**options, **extra, **{RUN_KEY: run_key}).mode("append").save(path)
    except Exception as error:
        if meant := _meant_by(str(error), layout):
            raise meant from error
        raise
    check_lease(layout.name, settings)
    timeline = Timeline(table=layout.name, path=path)
    for instant in reversed(timeline.writes):
        if timeline.metadata(instant).get(RUN_KEY) == run_key:
            done = Commit(instant=instant.time, rows=timeline.rows_written(instant))
            log.info("%s: committed %d rows at %s", layout.name, done.rows, done.instant)
            if before.newest and done.instant <= before.newest:
                raise CommitHiddenError(table=layout.name, instant=done.instant, newest=before.newest)
            STAGES.wrote(Stage.WRITE, layout.name, timeline.bytes_written(instant))
            return done
    raise CommitLostError(table=layout.name, run_key=run_key)


def _meant_by(error: str, layout: TableLayout) -> LakehouseError | None:
    """What an error of Hudi's says to a person, where that is known."""
    if any(name in error for name in _CONFLICTS):
        return TransientError(f"{layout.name}: another writer committed first; run the job again")
    if _HALF_MADE in error:
        # A heartbeat of a writer that was creating the table, and was taken for dead, made the folder once more after
        # it was removed. The next run removes it again.
        return TransientError(f"{layout.name}: a writer that was creating the table is not dead; run the job again")
    if _NO_FOLDER_TEXT in error:
        return ContractError(
            f"{layout.name}: {_NO_FOLDER_TEXT} (it has /, \\ or a line end, or is too long); partition by a day or "
            f"a month"
        )
    return None


def _with_folders(rows_df: DataFrame, layout: TableLayout) -> DataFrame:
    """The rows; writing one whose partition would be a path of its own fails."""
    if not layout.partition or not isinstance(rows_df.schema[layout.partition].dataType, StringType):
        return rows_df
    value = F.col(layout.partition)
    stopped = F.raise_error(F.lit(_NO_FOLDER_TEXT)).cast("string")
    return rows_df.withColumn(layout.partition, F.when(value.rlike(_NO_FOLDER), stopped).otherwise(value))
