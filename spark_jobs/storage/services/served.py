"""A table as its services see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import SparkSession

from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.services import ServiceTargets
from spark_jobs.storage.consumers import ConsumerRegistry
from spark_jobs.storage.layouts import TableLayout
from spark_jobs.storage.lease import check_lease, service_lease
from spark_jobs.storage.options import Hudi, build_service_options
from spark_jobs.storage.procedures import call
from spark_jobs.storage.services.retention import plan_retention
from spark_jobs.storage.services.state import TableState
from spark_jobs.storage.timeline import Timeline


@dataclass(frozen=True, kw_only=True)
class ServedTable:
    """A table whose service lease is held. ``clock`` decides what is old enough to go."""

    spark: SparkSession
    layout: TableLayout
    targets: ServiceTargets
    settings: Settings
    clock: datetime

    @property
    def name(self) -> str:
        """The table's name."""
        return self.layout.name

    @property
    def path(self) -> str:
        """The table's folder."""
        return self.settings.table_path(self.layout.name)

    def look(self) -> TableState:
        """Timeline and files as they are now."""
        return TableState.look(self.layout, self.path)

    def timeline(self) -> Timeline:
        """The timeline alone, where the files do not matter."""
        timeline = Timeline(table=self.name, path=self.path)
        timeline.check_version()
        return timeline

    def superseded(self) -> set[str]:
        """Paths of the files that no state needs which has to stay."""
        state, consumers = self.look(), ConsumerRegistry(self.settings.base_path).all()
        retention = plan_retention(state.timeline, consumers, self.targets, self.clock)
        return {file.path for file in state.superseded(retention.earliest)} if retention else set()

    def call(self, procedure: str, given: Mapping[str, str | int], options: Mapping[Hudi, str] | None = None) -> None:
        """Call a procedure of Hudi's; LeaseLostError when the service lease is not ours any more."""
        lease = service_lease(self.name)
        check_lease(lease, self.settings)
        call(self.spark, self.name, self.path, procedure, given, options=build_service_options(options))
        check_lease(lease, self.settings)
