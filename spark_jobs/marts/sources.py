"""What a mart reads: how far each table was read, what is new in it, and the table as it was at an instant.

Versions of a table's rows are read like a table, and how far is how far their history was.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.checkpoints import instant_of
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import BEGINNING, Instant, InstantRange
from spark_jobs.contracts.names import show
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.marts import CELL_ID, ReadSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.marts.versions import OfKeys, changed_versions, versions_at
from spark_jobs.marts.views import Views
from spark_jobs.sql_analysis.mart_sql import MartQuery
from spark_jobs.storage.change_feed import AFTER, BEFORE, read_changes
from spark_jobs.storage.forms import is_rebuilt_after
from spark_jobs.storage.lake_specs import read_kept
from spark_jobs.storage.layouts import partition_of
from spark_jobs.storage.reader import Pull, plan_pull, read_pull
from spark_jobs.storage.snapshots import read_table
from spark_jobs.storage.table_files import list_file_groups
from spark_jobs.storage.time_travel import cleaned_up_to
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.kept_columns import kept_here, with_kept
from spark_jobs.transforms.visible import visible_rows


class ChangesUnknownError(Exception):
    """A commit in the window kept no changes, or they cannot be found; never leaves the engine."""

    def __init__(self, table: str, reason: str = "") -> None:
        self.table = table
        super().__init__(reason or f"a commit of {table} kept no changes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Rows of a source that came and rows that left; ``left_df`` is None for a table whose rows never change."""

    came_df: DataFrame
    left_df: DataFrame | None

    @property
    def both_df(self) -> DataFrame:
        """All of them."""
        return self.came_df if self.left_df is None else self.came_df.unionByName(self.left_df)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One table that a mart reads. ``pull`` bounds what is new since the mart's checkpoint.

    ``inputs`` are the columns that the mart sees of it; None for all that readers see.
    """

    read: ReadSpec
    inputs: tuple[str, ...] | None
    timeline: Timeline
    pull: Pull
    spec: LakeSpec
    settings: Settings

    @classmethod
    def plan(
        cls,
        read: ReadSpec,
        checkpoint: str,
        *,
        spec: LakeSpec,
        settings: Settings,
        inputs: tuple[str, ...] | None = None,
        is_held: bool = False,
    ) -> Source:
        """Look at the table's timeline, and bound what is new after ``checkpoint``; nothing is when it ``is_held``."""
        stored = spec.stored_name(read.table)
        timeline = Timeline(table=stored, path=settings.table_path(stored))
        timeline.check_readable()
        held = Pull(window=InstantRange(after=instant_of(checkpoint), up_to=instant_of(checkpoint)))
        pull = held if is_held else plan_pull(timeline, after=checkpoint)
        return cls(read=read, inputs=inputs, timeline=timeline, pull=pull, spec=spec, settings=settings)

    @property
    def table(self) -> str:
        """The name by which the mart reads it."""
        return self.read.table

    @property
    def stored(self) -> str:
        """The name of the stored table: of versions that of their history."""
        return self.timeline.table

    @property
    def up_to(self) -> Instant:
        """The instant the mart is brought to; ``BEGINNING`` while the table has no commit."""
        return self.pull.window.up_to

    @property
    def bytes(self) -> int:
        """Of its data files, those of older states too."""
        groups = list_file_groups(self.timeline.path)
        return sum(file.size for group in groups for each in group.slices for file in each.files)

    @property
    def is_absent(self) -> bool:
        """True before the table's first commit."""
        return self.up_to == BEGINNING

    @property
    def is_new(self) -> bool:
        """True when the mart has never read it, or has to start over."""
        return self.pull.window.after == BEGINNING and not self.is_absent

    @property
    def has_moved(self) -> bool:
        """True when there is something to read."""
        return not self.is_absent and (self.is_new or bool(self.timeline.changes_in(self.pull.window)))

    def snapshot(
        self, views: Views, partitions: Collection[str] | None = None, *, of_keys: OfKeys | None = None
    ) -> DataFrame:
        """Its visible rows as of ``up_to``; of these partitions alone when they are given.

        ``of_keys`` is for versions: it keeps the events of some keys, so that those of others are not sorted.
        """
        if table := self.spec.versions_of(self.table):
            return self._seen(versions_at(self.up_to, self.timeline, table, self.spec, views, of_keys))
        if partitions is None:
            rows_df = self._filled(read_table(views.spark, self.timeline, self.up_to))
        else:
            column = self._partition_column
            folders = [f"{column}={value}" for value in partitions]
            rows_df = self._filled(read_table(views.spark, self.timeline, self.up_to, folders))
            rows_df = rows_df.where(F.col(column).isin(*partitions))
        return self._seen(visible_rows(rows_df, self.table, self.spec))

    def changes(self, views: Views, query: MartQuery) -> Changes:
        """What is new in its visible rows.

        Args:
            views: keeps the rows, which are read once.
            query: says which columns count; a row in which only others changed is no change.

        Raises:
            ChangesUnknownError: a commit kept no changes; the mart has to be recomputed.
        """
        if table := self.spec.versions_of(self.table):
            return self._changed_versions(table, views)
        if self.spec.is_append_only(self.table):
            came_df = self._filled(read_pull(views.spark, self.timeline.path, self.pull))
            return Changes(came_df=views.pin(visible_rows(came_df, self.table, self.spec), "came"), left_df=None)
        feed_df = read_changes(views.spark, self.timeline, self.pull.window, self.settings)
        if feed_df is None:
            raise ChangesUnknownError(self.table)
        hidden = {CELL_ID} if self.table in self.spec.mart_names else set()
        stored = [name for name in feed_df.select(f"{AFTER}.*").columns if name not in hidden]
        columns = sorted(query.used_columns(self.table, self.inputs or stored))
        if set(columns) - set(stored):  # a column that no commit of the window has yet
            raise ChangesUnknownError(self.table)
        before, after = (F.struct(*(F.col(f"{side}.{name}") for name in columns)) for side in (BEFORE, AFTER))
        is_same = F.col(BEFORE).isNotNull() & F.col(AFTER).isNotNull() & before.eqNullSafe(after)
        changed_df = views.pin(feed_df.where(~is_same), "changed")
        came_df, left_df = (
            changed_df.where(F.col(side).isNotNull()).select(*(f"{side}.{name}" for name in stored))
            for side in (AFTER, BEFORE)
        )
        return Changes(came_df=self._seen(came_df), left_df=self._seen(left_df))

    def _filled(self, rows_df: DataFrame) -> DataFrame:
        """Rows of the log with what was kept of columns that were declared after their events came."""
        if self.stored != self.spec.log:
            return rows_df
        known = read_kept(self.timeline)
        return with_kept(rows_df, kept_here(self.spec.source.columns, known), known)

    def _seen(self, rows_df: DataFrame) -> DataFrame:
        """The rows with the columns that the mart sees; ContractError when the table lacks one."""
        if self.inputs is None:
            return rows_df
        if missing := sorted(set(self.inputs) - set(rows_df.columns)):
            raise ContractError(
                f"{self.table} has no column {show(missing[0])} (yet), which the mart's SQL names; it has "
                f"{', '.join(rows_df.columns)}: correct the SQL, or wait until the source has sent the column"
            )
        return rows_df.select(*self.inputs)

    def _changed_versions(self, table: TableSpec, views: Views) -> Changes:
        """Those of keys that have new events; an event that changes no version leaves all of them as they are."""
        stored, window = self.stored, self.pull.window
        if any(map(self.timeline.removes_rows, self.timeline.changes_in(window))):
            raise ChangesUnknownError(stored, f"rows of {stored} were removed")
        if is_rebuilt_after(self.timeline, window.after):
            raise ChangesUnknownError(stored, f"{stored} was rebuilt by another definition")
        if window.after < cleaned_up_to(views.spark, self.timeline):  # the mart's checkpoint was not registered
            raise ChangesUnknownError(stored, f"the state of {stored} at {window.after} was cleaned")
        before_df, after_df = changed_versions(self.pull, self.timeline, table, self.spec, views)
        before_df, after_df = (views.pin(self._seen(side), "versions") for side in (before_df, after_df))
        return Changes(came_df=after_df.exceptAll(before_df), left_df=before_df.exceptAll(after_df))

    @property
    def _partition_column(self) -> str:
        return partition_of(self.stored, self.spec)
