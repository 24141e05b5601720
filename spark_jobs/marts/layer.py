"""The marts of a layer refreshed side by side, each after those that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter

from spark_jobs.context import AnyContext
from spark_jobs.contracts.clocks import MartAheadError
from spark_jobs.contracts.job_errors import DefinitionChangedError, GateStoppedError
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.marts.engine import Engine
from spark_jobs.marts.modes.registry import refresh_mart
from spark_jobs.marts.refresh import RefreshRequest
from spark_jobs.session import Sessions


@dataclass(frozen=True, kw_only=True)
class MartRefresh:
    """What the refresh of a mart gave; ``error`` is why it stayed as it is."""

    outcomes: Sequence[TableOutcome] = ()
    messages: Sequence[str] = ()
    error: GateStoppedError | MartAheadError | DefinitionChangedError | None = None


@dataclass(frozen=True, kw_only=True)
class LayerRefresh:
    """Refreshes the marts of a layer, as many at a time as tables are written at a time (``write_threads``).

    Each has a session of its own meanwhile. A mart that its gate stops, or that is blocked, keeps no other from being
    refreshed. After any other error no further mart is begun; it is raised when those that are under way have ended.
    """

    context: AnyContext
    request: RefreshRequest

    def run(self, marts: Sequence[MartSpec]) -> list[MartRefresh]:
        """Refresh these marts; what each gave, in their order."""
        if not marts:
            return []
        by_name = {mart.name: mart for mart in marts}
        order = TopologicalSorter(waits_for(marts, self.context.spec))
        order.prepare()
        running, ended = dict[Future[MartRefresh], str](), dict[str, MartRefresh]()
        most = min(self.context.settings.write_threads, len(marts))
        with Sessions(self.context.spark, self.context.settings) as sessions, ThreadPoolExecutor(most) as threads:
            try:
                while order.is_active():
                    for name in order.get_ready():
                        running[threads.submit(self._refresh, by_name[name], sessions)] = name
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        name = running.pop(future)
                        ended[name] = future.result()
                        order.done(name)
            finally:
                threads.shutdown(cancel_futures=True)
        return [ended[mart.name] for mart in marts]

    def _refresh(self, mart: MartSpec, sessions: Sessions) -> MartRefresh:
        with sessions.one() as spark:
            engine = Engine(context=replace(self.context, session=spark), request=self.request)
            try:
                outcomes = refresh_mart(engine, mart)
            except (GateStoppedError, MartAheadError, DefinitionChangedError) as error:
                return MartRefresh(messages=engine.messages, error=error)
            return MartRefresh(outcomes=outcomes, messages=engine.messages)


def waits_for(marts: Sequence[MartSpec], spec: LakeSpec) -> dict[str, set[str]]:
    """By mart, those of the others that it or its cache reads. A cache has no other reader, the lake spec says."""
    names = {mart.name for mart in marts}
    read = {mart.name: [*mart.reads, *(spec.mart(mart.cache).reads if mart.cache else ())] for mart in marts}
    return {name: {each.table for each in reads} & names for name, reads in read.items()}
