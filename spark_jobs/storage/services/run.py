"""Carries out one service of one table, beside its writers and readers.

A service lease keeps two services of a table apart. Planning, cleaning and archiving also hold the table's own lease, a
moment in which no writer is at work; compaction and clustering then merge files while writers go on.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from spark_jobs.contracts.errors import TransientError
from spark_jobs.lake_spec.services import Service
from spark_jobs.storage.consumers import ConsumerRegistry
from spark_jobs.storage.heartbeats import Heartbeats
from spark_jobs.storage.lease import hold_tables, service_lease
from spark_jobs.storage.recovery import settled_timeline, with_late_compactions
from spark_jobs.storage.services.due import find_needs
from spark_jobs.storage.services.kind import Done, HeldKind, Need, PlannedKind
from spark_jobs.storage.services.registry import KINDS
from spark_jobs.storage.services.served import ServedTable
from spark_jobs.storage.services.state import TableState

_JOB = "services"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRun:
    """What a service did in a table; ``did`` is a sentence, and ``is_done`` False when the table did not need it."""

    table: str
    service: Service
    is_done: bool
    did: str


@dataclass(frozen=True, kw_only=True)
class TableServices(ServedTable):
    """The services of one table. ``clock`` decides what is old enough to go."""

    def run(self, service: Service, *, is_forced: bool = False) -> ServiceRun:
        """Run the service if it is due, or whether it is or not.

        Raises:
            TableBusyError: a writer or another service holds the table for too long.
            TransientError: the service ended without having done what it planned.
        """
        with hold_tables([service_lease(self.name)], job=_JOB, settings=self.settings):
            done = self._work(service, is_forced=is_forced)
        return ServiceRun(table=self.name, service=service, is_done=done.is_done, did=done.did)

    def _work(self, service: Service, *, is_forced: bool) -> Done:
        with hold_tables([self.name], job=_JOB, settings=self.settings):
            timeline = settled_timeline(self.spark, self.name, self.settings)
            state = self.look()
            need = self._need(service, state)
            if need is None or not (need.is_due or is_forced):
                return Done(did=need.why if need else "nothing of the kind in this table", is_done=False)
            kind = KINDS[service]
            log.info("%s: %s: %s", self.name, service.value, need.why)
            if isinstance(kind, HeldKind):
                return kind.work(self, need)
            if not timeline.pending_plans:
                kind.plan(self, state, is_forced=is_forced)
        return self._carry_out(kind)

    def _need(self, service: Service, state: TableState) -> Need | None:
        consumers = ConsumerRegistry(self.settings.base_path).all()
        needs = find_needs(state, consumers, self.targets, self.clock).needs
        return next((need for need in needs if need.service is service), None)

    def _carry_out(self, kind: PlannedKind) -> Done:
        """Carry out every plan that waits, also one of a run that died, and see that it is done."""
        planned = self.timeline().pending_plans
        if not planned:
            return Done(did="there was nothing to plan", is_done=False)
        Heartbeats(self.name, self.path).wait_for_end(planned)
        self.call(kind.procedure, {"op": kind.operation})
        timeline = with_late_compactions(self.timeline())
        if left := [time for time in planned if time in timeline.pending_plans or not timeline.holds(time)]:
            raise TransientError(f"{self.name}: {kind.service.value} of {', '.join(left)} did not end; run it again")
        return Done(did=f"committed at {', '.join(planned)}")
