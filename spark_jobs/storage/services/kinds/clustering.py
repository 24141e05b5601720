"""Clustering: small files of an append-only table are written together into larger ones."""

from __future__ import annotations

from spark_jobs.lake_spec.services import Service
from spark_jobs.storage.layouts import StorageForm
from spark_jobs.storage.options import Hudi
from spark_jobs.storage.services.kind import Facts, Need, PlannedKind
from spark_jobs.storage.services.served import ServedTable
from spark_jobs.storage.services.state import TableState

_MB = 1024 * 1024
_MOST_GROUPS = 100


class Clustering(PlannedKind):
    """By small files in a partition. The files of keyed tables are the buckets of their keys: see rescale."""

    service = Service.CLUSTERING
    action, procedure, operation = "replacecommit", "run_clustering", "execute"

    def need(self, facts: Facts) -> Need | None:
        """By the partition with most small files."""
        state, targets = facts.state, facts.targets
        if state.layout.form is not StorageForm.APPENDED:
            return None
        small = state.small_files(targets.small_file_mb * _MB)
        many = [partition for partition, count in small.items() if count >= targets.cluster_small_files]
        found = f"{max(small.values(), default=0)} of {targets.cluster_small_files} small files in a partition"
        planned = self.waiting(state)
        return Need(
            table=state.layout.name,
            service=self.service,
            is_due=bool(many) or bool(planned),
            why=planned or (f"{found}, in {len(many)} partitions" if len(many) > 1 else found),
        )

    def plan(self, table: ServedTable, state: TableState, *, is_forced: bool) -> None:
        """The partitions with many small files; when it is forced, with two."""
        targets = table.targets
        small = state.small_files(targets.small_file_mb * _MB)
        most = 2 if is_forced else targets.cluster_small_files
        partitions = sorted(partition for partition, count in small.items() if count >= most)
        if not partitions:
            return
        options = {
            Hudi.SMALL_FILE: str(targets.small_file_mb * _MB),
            Hudi.TARGET_FILE: str(targets.target_file_mb * _MB),
            Hudi.MOST_GROUPS: str(_MOST_GROUPS),
        }
        given = {"op": "schedule"}
        if partitions != [""]:
            given["selected_partitions"] = ",".join(partitions)
        if targets.sort_by:
            given["order"] = ",".join(targets.sort_by)
        table.call(self.procedure, given, options)
