"""Refreshes one mart to the newest state of what it reads, by its mode."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments
from spark_jobs.contracts.clocks import MartAheadError
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.job_errors import DefinitionChangedError
from spark_jobs.contracts.names import show_all
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.marts import MartMode, MartSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.marts.cache import move_cut, rebuild
from spark_jobs.marts.modes import aggregate_difference, append_rows, full_difference
from spark_jobs.marts.ranges import range_difference
from spark_jobs.marts.refresh import Refresh
from spark_jobs.marts.rule_versions import rule_notes
from spark_jobs.marts.scoped import scoped_difference, scoped_full_difference
from spark_jobs.marts.scopes import windows
from spark_jobs.marts.sources import ChangesUnknownError
from spark_jobs.marts.stitch import CacheBrokenError, stitch, window_of
from spark_jobs.marts.views import Views
from spark_jobs.quality.verdicts import told_of
from spark_jobs.spec_files.rules_file import load_rules
from spark_jobs.sql_analysis.mart_sql import analyse_mart
from spark_jobs.storage.change_feed import forget_changes
from spark_jobs.storage.consumers import ConsumerRegistry
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.timeline import Timeline

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Engine:
    """What all refreshes of a run share; ``messages`` say what was recomputed and why, and what rows broke.

    ``applies`` are marts that may be computed by another definition than their rows; all others are blocked then.
    """

    spark: SparkSession
    spec: LakeSpec
    settings: Settings
    arguments: JobArguments
    messages: list[str] = field(default_factory=list)
    applies: frozenset[str] = frozenset()

    @contextmanager
    def refreshing(
        self, mart: MartSpec, also: Mapping[str, str] | None = None, *, is_held: bool = False
    ) -> Iterator[Refresh]:
        """A refresh of ``mart``, whose lease the caller holds; its views are gone afterwards.

        Raises:
            ContractError: it reads a table that no pattern has found so far.
            DefinitionChangedError: the mart's rows were computed by another definition than that of the files.
            MartAheadError: the mart was refreshed for a time that has not come yet; a full refresh goes on from now.
        """
        if missing := self.spec.missing_reads(mart):
            raise ContractError(
                f"mart {mart.name} reads {show_all(missing)}, which no pattern has found so far; run it again "
                f"when it has, or correct its reads"
            )
        book = load_rules(self.settings.rules_path) if mart.rules else None
        with Views(self.spark) as views:
            refresh = Refresh(
                views=views,
                spec=self.spec,
                settings=self.settings,
                arguments=self.arguments,
                mart=mart,
                query=analyse_mart(mart, self.spec, book),
                timeline=settled_timeline(self.spark, mart.name, self.settings),
                state=ConsumerRegistry(self.settings.base_path).read(mart.name),
                also=also or {},
                is_held=is_held,
            )
            if refresh.is_ahead and mart.name not in self.spec.caches and not self.arguments.options.get("full"):
                raise MartAheadError(mart=mart.name, layer=mart.layer, clock=refresh.previous_clock or refresh.clock)
            if refresh.definition_changes and mart.name not in self.applies:
                raise DefinitionChangedError(changed={mart.name: refresh.definition_changes})
            yield refresh
            self.messages.extend(told_of(mart.name, refresh.verdicts))

    def holding(self, *marts: MartSpec) -> AbstractContextManager[None]:
        """The leases of these marts, for the block."""
        return hold_tables((mart.name for mart in marts), job=self.arguments.job, settings=self.settings)

    def refresh(self, mart: MartSpec) -> list[TableOutcome]:
        """Refresh the mart (a stitch mart with its cache), under its lease."""
        if mart.mode is MartMode.STITCH:
            cache = self.spec.mart(mart.reads[0].table)
            with self.holding(mart, cache):
                return self._refresh_stitch(mart, cache)
        with self.holding(mart):
            with self.refreshing(mart) as refresh:
                outcome = self._refresh_mart(refresh)
            if self.arguments.interval and mart.mode in (MartMode.AGGREGATE, MartMode.FULL):
                outcome = self._compute_interval_again(mart, outcome)
            return [outcome]

    def forget_changes(self, tables: Iterable[str]) -> None:
        """Remove the parts of these tables' change feeds that every consumer has read."""
        consumers = ConsumerRegistry(self.settings.base_path).all().values()
        now_ns = int(self.arguments.clock.timestamp() * 1e9)
        for table in sorted(set(tables) & self.spec.fed_tables):
            timeline = Timeline(table=table, path=self.settings.table_path(table))
            forget_changes(timeline, consumers, self.settings, now_ns=now_ns)

    def _refresh_mart(self, refresh: Refresh) -> TableOutcome:
        mart = refresh.mart
        absent = [source.table for source in refresh.sources if source.is_absent]
        if absent and refresh.definition_changes:
            raise ContractError(f"{mart.name}: {absent[0]}, which it reads, has no commit yet; fill that table first")
        if absent:
            return refresh.unchanged()
        why_full = refresh.why_full
        is_asked = bool(why_full) or (mart.mode is MartMode.SCOPED and refresh.arguments.interval is not None)
        now, before = windows(refresh)
        if not is_asked and refresh.is_up_to_date and now == before:
            return refresh.unchanged()
        try:
            return self._by_mode(refresh, why_full)
        except ChangesUnknownError as error:
            return self._by_mode(refresh, str(error))

    def _by_mode(self, refresh: Refresh, why_full: str) -> TableOutcome:
        mart = refresh.mart
        if why_full:
            self._tell(mart, why_full)
        if mart.mode is MartMode.APPEND:
            return append_rows(refresh, why_full)
        if mart.mode is MartMode.SCOPED:
            difference_df = scoped_full_difference(refresh) if why_full else scoped_difference(refresh)
            if difference_df is None:
                return refresh.unchanged()
            return refresh.write(difference_df, rule_notes(refresh, difference_df) if mart.rules else {})
        is_by_change = mart.mode is MartMode.AGGREGATE and not why_full
        return refresh.write(aggregate_difference(refresh) if is_by_change else full_difference(refresh))

    def _compute_interval_again(self, mart: MartSpec, outcome: TableOutcome) -> TableOutcome:
        with self.refreshing(mart, is_held=True) as refresh:
            interval = self.arguments.interval
            difference_df = range_difference(refresh, interval) if interval else None
            again = None if difference_df is None else refresh.write(difference_df)
        return again if again and again.is_committed else outcome

    def _refresh_stitch(self, mart: MartSpec, cache_mart: MartSpec) -> list[TableOutcome]:
        """The cache first, when it cannot be trusted or its cut is to be moved; then the mart."""
        cached = self._refresh_cache(mart, cache_mart)
        why_broken = ""
        try:
            self._check_interval(cache_mart)
            return [cached, self._stitch(mart, cache_mart)]
        except CacheBrokenError:
            why_broken = "its cells are not what was committed"
        except ChangesUnknownError as error:
            why_broken = str(error)
        self._tell(cache_mart, why_broken)
        with self.refreshing(cache_mart) as cache:
            cached = rebuild(cache)
        return [cached, self._stitch(mart, cache_mart)]

    def _refresh_cache(self, mart: MartSpec, cache_mart: MartSpec) -> TableOutcome:
        with self.refreshing(cache_mart) as cache:
            source = cache.sources[0]
            if source.is_absent:
                return cache.unchanged()
            if why_full := cache.why_full:
                self._tell(cache_mart, why_full)
                return rebuild(cache)
            after_cut = sum(1 for write in source.timeline.writes if write.time > source.pull.window.after)
            wants_move = self.arguments.options.get("move_cut") or after_cut > mart.max_commits_after_cut
            if not wants_move or not source.has_moved:
                return TableOutcome(table=cache_mart.name, instant=cache.timeline.last, rows=0, is_committed=False)
            log.info("%s: moving the cut from %s to %s", cache_mart.name, source.pull.window.after, source.up_to)
            try:
                return move_cut(cache)
            except ChangesUnknownError as error:
                self._tell(cache_mart, str(error))
                return rebuild(cache)

    def _check_interval(self, cache_mart: MartSpec) -> None:
        """Compute the cached cells of a backfill's dates again; CacheBrokenError when they are others."""
        if self.arguments.interval:
            with self.refreshing(cache_mart, is_held=True) as cache:
                difference_df = range_difference(cache, self.arguments.interval)
                if difference_df is not None and not difference_df.isEmpty():
                    raise CacheBrokenError

    def _stitch(self, mart: MartSpec, cache_mart: MartSpec) -> TableOutcome:
        with self.refreshing(cache_mart) as cache:
            source = cache.sources[0]
            with self.refreshing(mart, {source.stored: source.up_to}) as refresh:
                window, before = window_of(refresh, cache, refresh.clock), refresh.previous_clock
                is_same_window = before is not None and window == window_of(refresh, cache, before)
                is_same = is_same_window and not refresh.definition_changes
                if source.is_absent or (refresh.is_up_to_date and is_same):
                    return refresh.unchanged()
                return stitch(refresh, cache, window)

    def _tell(self, mart: MartSpec, why_full: str) -> None:
        message = f"{mart.name}: full refresh because {why_full}"
        log.info("%s", message)
        self.messages.append(message)
