"""Commits that are later than now, taken off a table's timeline; what cannot be read again is committed again first.

The rows of the log, of the quarantine and of quality's results are kept beside the lake until they are committed again,
with the metadata of their commit. All other tables are made of the log: their commits are rolled back, and the next
run reads again what they had. Rows of loaded files are no business of a repair: the same files may be there no more.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from enum import StrEnum

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.clocks import machine_now
from spark_jobs.contracts.errors import ContractError, TransientError
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.storage.clocks import commits_ahead
from spark_jobs.storage.commit_times import CompletedWrite
from spark_jobs.storage.doctor.findings import Ailment, Finding
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.kept_rows import AHEAD_FOLDER, kept_commits
from spark_jobs.storage.layouts import COMMIT_TIME, StorageForm, TableLayout
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.reader import read_stored
from spark_jobs.storage.recovery import roll_back_dead_writes
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import OWN_KEYS, commit

_ROWS, _METADATA = "rows", "commit.json"
_MOVED_KEY = "moved_from"

log = logging.getLogger(__name__)


class WayBack(StrEnum):
    """What happens to the rows of a commit that is later than now."""

    COMMITTED_AGAIN = "committed again"
    COMPUTED_AGAIN = "computed again by the next run"
    KEPT = "left to a person"


def way_back(spec: LakeSpec, table: str) -> WayBack:
    """What a repair does with a table's commits that are later than now."""
    if table in (spec.log, spec.quarantine, spec.quality.table):
        return WayBack.COMMITTED_AGAIN
    return WayBack.KEPT if table in {load.name for load in spec.loads} else WayBack.COMPUTED_AGAIN


def refusal(timeline: Timeline, ahead: tuple[CompletedWrite, ...], way: WayBack) -> str:
    """Why the commits cannot be taken off, or ""."""
    if way is WayBack.KEPT and ahead:
        return "its rows came from files"
    if found := [write.time for write in ahead if timeline.is_service(write)]:
        return f"{', '.join(found)} is of a table service"
    if way is WayBack.COMMITTED_AGAIN and (found := [write.time for write in ahead if timeline.removes_rows(write)]):
        return f"{', '.join(found)} removed rows"
    if kept := sorted(timeline.savepoints & {write.time for write in ahead}):
        return f"savepoints keep {', '.join(kept)}; delete them first"
    return ""


def take_off(spark: SparkSession, layout: TableLayout, way: WayBack, settings: Settings) -> None:
    """Take the commits off that are later than now, newest first, and commit again what was kept of them.

    The caller holds the leases of the table and of its services. Cut off anywhere, it is continued by the next one.

    Raises:
        ContractError: a person has to decide; nothing was changed.
        TransientError: a commit is still there; run it again.
    """
    path = settings.table_path(layout.name)
    timeline = Timeline(table=layout.name, path=path)
    ahead = commits_ahead(timeline, machine_now())
    if why := refusal(timeline, ahead, way):
        raise ContractError(f"{layout.name}: {why}; docs/runbooks/clock.md says what to do")
    for write in reversed(ahead):
        if way is WayBack.COMMITTED_AGAIN:
            _keep(spark, layout, timeline, write, settings)
        log.warning("%s: taking commit %s off, which is later than now", layout.name, write.time)
        # Hudi's rollback_to_instant looks for the timeline of a later table version. Without its commit file the commit
        # is one of a dead writer, and is rolled back like that; so it is too when this run dies in between.
        Filesystem(path).delete(f".hoodie/{write.file_name}")
        if write == timeline.writes[0]:
            Filesystem(path).delete_tree()  # as of a table whose creation was cut off
        else:
            roll_back_dead_writes(spark, Timeline(table=layout.name, path=path))
        left = Timeline(table=layout.name, path=path)
        if left.holds(write.time) or write.time in left.pending:
            raise TransientError(f"{layout.name}: commit {write.time} is still there; run doctor repair again")
    _commit_kept(spark, layout, settings)


def carry_metadata(metadata: Mapping[str, str], instant: Instant) -> dict[str, str]:
    """The metadata of the new commit: that of the old one without what every commit has of its own."""
    kept = {key: text for key, text in metadata.items() if key.startswith(METADATA_PREFIX) and key not in OWN_KEYS}
    return {**{key.removeprefix(METADATA_PREFIX): text for key, text in kept.items()}, _MOVED_KEY: instant}


def was_committed(timeline: Timeline, instant: Instant) -> bool:
    """True when a commit has the rows that another one had."""
    return any(timeline.metadata(write).get(METADATA_PREFIX + _MOVED_KEY) == instant for write in timeline.writes)


def check_kept(settings: Settings) -> Iterator[Finding]:
    """Rows that a repair took off and did not commit again, because it was cut off."""
    for table, commits in kept_commits(settings).items():
        yield Finding(
            table=table,
            ailment=Ailment.KEPT_ROWS,
            what=f"a repair was cut off: rows of {', '.join(commits) or 'no commit'} are not in the table; ingest, "
            f"erasures and all that rewrites wait",
            then="lakehouse doctor repair commits them again; an unfinished restore goes first",
        )


def _keep(
    spark: SparkSession, layout: TableLayout, timeline: Timeline, write: CompletedWrite, settings: Settings
) -> None:
    """Write the rows and metadata of a commit beside the lake. The metadata comes last: it marks the copy as complete.

    Raises:
        ContractError: the rows are not those that the commit counts, so that taking it off would lose some.
    """
    files, folder = Filesystem(settings.base_path), f"{AHEAD_FOLDER}/{timeline.table}/{write.time}"
    if files.read(f"{folder}/{_METADATA}") is not None:
        return
    rows_df = spark.read.format("hudi").load(timeline.path).where(F.col(COMMIT_TIME) == write.time)
    stored_df = rows_df.select(*read_stored(spark, timeline.path).columns)
    kept = f"{settings.base_path.rstrip('/')}/{folder}/{_ROWS}"
    stored_df.write.mode("overwrite").parquet(kept)
    found, counted = spark.read.parquet(kept).count(), timeline.rows_written(write)
    # A merge may count a row that the stored one won against.
    if found < (counted if layout.form is StorageForm.APPENDED else min(counted, 1)):
        files.delete_tree(folder)
        if not files.folders(parent := f"{AHEAD_FOLDER}/{layout.name}"):
            files.delete_tree(parent)
        raise ContractError(
            f"{layout.name}: commit {write.time} counts {counted} rows, and {found} have its time, so it was not taken "
            f"off; rename its files back if they were renamed, or restore the lake to a savepoint of before"
        )
    files.write(f"{folder}/{_METADATA}", json.dumps(dict(timeline.metadata(write))).encode())


def _commit_kept(spark: SparkSession, layout: TableLayout, settings: Settings) -> None:
    files, folder = Filesystem(settings.base_path), f"{AHEAD_FOLDER}/{layout.name}"
    for instant in map(Instant, files.folders(folder)):
        stored = files.read(f"{folder}/{instant}/{_METADATA}")
        timeline = Timeline(table=layout.name, path=settings.table_path(layout.name))
        if stored is not None and not timeline.holds(instant) and not was_committed(timeline, instant):
            rows_df = spark.read.parquet(f"{settings.base_path.rstrip('/')}/{folder}/{instant}/{_ROWS}")
            if layout.form is StorageForm.APPENDED and timeline.last:
                # A run may have read the same again since the repair was cut off.
                known_df = read_stored(spark, timeline.path).select(layout.record_key)
                rows_df = rows_df.join(known_df, layout.record_key, "left_anti")
            commit(rows_df, layout, metadata=carry_metadata(json.loads(stored), instant), settings=settings)
        files.delete_tree(f"{folder}/{instant}")
    if files.changed_ns(folder) is not None:
        files.delete_tree(folder)
