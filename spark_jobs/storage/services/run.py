"""Carries out one service of one table, beside its writers and readers.

A service lease keeps two services of a table apart. Planning, cleaning and archiving also hold the table's own lease, a
moment in which no writer is at work; compaction and clustering then merge files while writers go on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import TransientError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.services import Service, ServiceTargets
from spark_jobs.storage.consumers import ConsumerRegistry
from spark_jobs.storage.heartbeats import Heartbeats
from spark_jobs.storage.layouts import TableLayout
from spark_jobs.storage.lease import check_lease, hold_tables, service_lease
from spark_jobs.storage.options import METADATA_PREFIX, Hudi, Operation, build_service_options
from spark_jobs.storage.procedures import call
from spark_jobs.storage.reader import read_stored
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.services.due import Need, find_needs
from spark_jobs.storage.services.purge import finish_plans
from spark_jobs.storage.services.retention import plan_retention
from spark_jobs.storage.services.state import TableState
from spark_jobs.storage.timeline import SERVICE_KEY, Timeline
from spark_jobs.storage.writer import commit, fit_layout

_MB = 1024 * 1024
_MOST_GROUPS = 100
_JOB = "services"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRun:
    """What a service did; ``did`` is a sentence, and ``is_done`` False when the table did not need it."""

    table: str
    service: Service
    is_done: bool
    did: str


@dataclass(frozen=True, kw_only=True)
class TableServices:
    """The services of one table. ``clock`` decides what is old enough to go."""

    spark: SparkSession
    layout: TableLayout
    targets: ServiceTargets
    settings: Settings
    clock: datetime

    @property
    def _table(self) -> str:
        return self.layout.name

    @property
    def _path(self) -> str:
        return self.settings.table_path(self.layout.name)

    def run(self, service: Service, *, is_forced: bool = False) -> ServiceRun:
        """Run the service if it is due, or whether it is or not.

        Raises:
            TableBusyError: a writer or another service holds the table for too long.
            TransientError: the service ended without having done what it planned.
        """
        with hold_tables([service_lease(self._table)], job=_JOB, settings=self.settings):
            with hold_tables([self._table], job=_JOB, settings=self.settings):
                timeline = settled_timeline(self.spark, self._table, self.settings)
                state = self._look()
                need = self._need(service, state)
                if need is None or not (need.is_due or is_forced):
                    return self._run(service, need.why if need else "nothing of the kind in this table", is_done=False)
                log.info("%s: %s: %s", self._table, service.value, need.why)
                held = {Service.RESCALE: self._rescale, Service.CLEAN: self._clean, Service.ARCHIVE: self._archive}
                if service in held:
                    return held[service](need)
                plans: Mapping[Service, Callable[[], None]] = {
                    Service.COMPACTION: self._plan_compaction,
                    Service.CLUSTERING: lambda: self._plan_clustering(state, is_forced=is_forced),
                }
                if not timeline.pending_plans:
                    plans[service]()
            return self._carry_out(service)

    def _look(self) -> TableState:
        return TableState.look(self.layout, self._path)

    def _timeline(self) -> Timeline:
        """The timeline alone, where the files are not asked about."""
        timeline = Timeline(table=self._table, path=self._path)
        timeline.check_version()
        return timeline

    def _need(self, service: Service, state: TableState) -> Need | None:
        consumers = ConsumerRegistry(self.settings.base_path).all()
        needs = find_needs(state, consumers, self.targets, self.clock).needs
        return next((need for need in needs if need.service is service), None)

    def _plan_compaction(self) -> None:
        self._call("run_compaction", {"op": "schedule"}, {Hudi.COMPACT_AFTER: "1"})

    def _plan_clustering(self, state: TableState, *, is_forced: bool) -> None:
        small = state.small_files(self.targets.small_file_mb * _MB)
        most = 2 if is_forced else self.targets.cluster_small_files
        partitions = sorted(partition for partition, count in small.items() if count >= most)
        if not partitions:
            return
        options = {
            Hudi.SMALL_FILE: str(self.targets.small_file_mb * _MB),
            Hudi.TARGET_FILE: str(self.targets.target_file_mb * _MB),
            Hudi.MOST_GROUPS: str(_MOST_GROUPS),
        }
        given = {"op": "schedule"}
        if partitions != [""]:
            given["selected_partitions"] = ",".join(partitions)
        if self.targets.sort_by:
            given["order"] = ",".join(self.targets.sort_by)
        self._call("run_clustering", given, options)

    def _carry_out(self, service: Service) -> ServiceRun:
        """Carry out every plan that waits, also one of a run that died, and see that it is done."""
        planned = self._timeline().pending_plans
        if not planned:
            return self._run(service, "there was nothing to plan", is_done=False)
        Heartbeats(self._table, self._path).wait_for_end(planned)
        procedure, operation = {
            Service.COMPACTION: ("run_compaction", "run"),
            Service.CLUSTERING: ("run_clustering", "execute"),
        }[service]
        self._call(procedure, {"op": operation}, {Hudi.COMPACT_AFTER: "1"})
        timeline = self._timeline()
        if left := [time for time in planned if time in timeline.pending_plans or not timeline.holds(time)]:
            raise TransientError(f"{self._table}: {service.value} of {', '.join(left)} did not end; run it again")
        return self._run(service, f"committed at {', '.join(planned)}")

    def _rescale(self, need: Need) -> ServiceRun:
        """Rewrite the table. Writers wait: what they would add meanwhile would lie in the old buckets."""
        finish_plans(self.spark, self.layout, self.settings)
        fitting = fit_layout(self.layout, self._timeline())
        if fitting.buckets == need.buckets:
            return self._run(need.service, need.why, is_done=False)
        done = commit(
            read_stored(self.spark, self._path),
            replace(fitting, buckets=need.buckets),
            metadata={SERVICE_KEY.removeprefix(METADATA_PREFIX): need.service.value},
            settings=self.settings,
            operation=Operation.INSERT_OVERWRITE,
        )
        return self._run(
            need.service, f"{fitting.buckets} to {need.buckets} buckets, {done.rows} rows at {done.instant}"
        )

    def _clean(self, need: Need) -> ServiceRun:
        before = self._superseded()
        self._call("run_clean", {"clean_policy": "KEEP_LATEST_COMMITS", "retain_commits": need.keep_commits})
        left = self._superseded() & before
        if left:
            log.warning("%s: clean could not remove %s", self._table, ", ".join(sorted(left)[:20]))
        did = f"{len(before - left)} files removed" + (f", {len(left)} could not be" if left else "")
        return self._run(need.service, did)

    def _superseded(self) -> set[str]:
        state, consumers = self._look(), ConsumerRegistry(self.settings.base_path).all()
        retention = plan_retention(state.timeline, consumers, self.targets, self.clock)
        return {file.path for file in state.superseded(retention.earliest)} if retention else set()

    def _archive(self, need: Need) -> ServiceRun:
        before = len(self._timeline().writes)
        keep = need.keep_commits
        kept = {"min_commits": keep, "max_commits": keep + 1, "retain_commits": max(keep - 1, 1)}
        call(self.spark, self._table, self._path, "archive_commits", {**kept, "enable_metadata": False})
        return self._run(need.service, f"{before - len(self._timeline().writes)} of {before} commits archived")

    def _call(self, procedure: str, given: Mapping[str, str | int], options: Mapping[Hudi, str] | None = None) -> None:
        lease = service_lease(self._table)
        check_lease(lease, self.settings)
        call(self.spark, self._table, self._path, procedure, given, options=build_service_options(options))
        check_lease(lease, self.settings)

    def _run(self, service: Service, did: str, *, is_done: bool = True) -> ServiceRun:
        return ServiceRun(table=self._table, service=service, is_done=is_done, did=did)
