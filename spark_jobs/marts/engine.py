"""What refreshes of marts share; how a mart is refreshed is by its mode (:mod:`spark_jobs.marts.modes`)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from spark_jobs.context import AnyContext
from spark_jobs.contracts.clocks import MartAheadError
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.job_errors import DefinitionChangedError
from spark_jobs.contracts.names import show_all
from spark_jobs.frames import shuffled_into
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.marts.refresh import Refresh, RefreshRequest
from spark_jobs.marts.views import Views
from spark_jobs.quality.verdicts import describe_verdicts
from spark_jobs.spec_files.rules_file import load_rules
from spark_jobs.sql_analysis.mart_sql import analyse_mart
from spark_jobs.storage.change_feed import forget_changes
from spark_jobs.storage.consumers import ConsumerRegistry
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.serving.places import ServedPlaces
from spark_jobs.storage.timeline import Timeline

log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Engine:
    """What all refreshes of a run share; ``messages`` say what was recomputed and why, and what rows broke.

    ``applies`` are marts that may be computed by another definition than their rows; all others are blocked then.
    """

    context: AnyContext
    request: RefreshRequest = field(default_factory=RefreshRequest)
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
        if missing := self.context.spec.missing_reads(mart):
            raise ContractError(
                f"mart {mart.name} reads {show_all(missing)}, which no pattern has found so far; run it again "
                f"when it has, or correct its reads"
            )
        book = load_rules(self.context.settings.rules_path) if mart.rules else None
        with Views(self.context.spark) as views:
            refresh = Refresh(
                views=views,
                context=self.context,
                request=self.request,
                mart=mart,
                query=analyse_mart(mart, self.context.spec, book),
                timeline=settled_timeline(self.context.spark, mart.name, self.context.settings),
                state=ConsumerRegistry(self.context.settings.base_path).read(mart.name),
                also=also or {},
                is_held=is_held,
            )
            if refresh.is_ahead and mart.name not in self.context.spec.caches and not self.request.is_full:
                raise MartAheadError(mart=mart.name, layer=mart.layer, clock=refresh.previous_clock or refresh.clock)
            if refresh.definition_changes and mart.name not in self.applies:
                raise DefinitionChangedError(changed={mart.name: refresh.definition_changes})
            # Everything is computed again: what is right for a few new rows is not for all.
            parts = refresh.parts_of_all if not is_held and refresh.why_full else 0
            with shuffled_into(self.context.spark, parts):
                yield refresh
            self.messages.extend(describe_verdicts(mart.name, refresh.verdicts))

    def holding(self, *marts: MartSpec) -> AbstractContextManager[None]:
        """The leases of these marts, for the block."""
        return hold_tables((mart.name for mart in marts), job=self.context.job, settings=self.context.settings)

    def forget_changes(self, tables: Iterable[str]) -> None:
        """Remove the parts of these tables' change feeds that every consumer and the serving store have read."""
        spec, settings = self.context.spec, self.context.settings
        consumers, places = ConsumerRegistry(settings.base_path).all().values(), ServedPlaces(settings)
        now_ns = int(self.context.clock.timestamp() * 1e9)
        for table in sorted(set(tables) & (spec.fed_tables | spec.mart_names)):
            place = places.read(table) if table in spec.mart_names else None
            if place or table in spec.fed_tables:
                timeline = Timeline(table=table, path=settings.table_path(table))
                served = place if place and timeline.holds(place) else None
                forget_changes(timeline, consumers, settings, now_ns=now_ns, served=served)

    def report_full(self, mart: MartSpec, why_full: str) -> None:
        """Say why all rows of a mart are computed again."""
        message = f"{mart.name}: full refresh because {why_full}"
        log.info("%s", message)
        self.messages.append(message)
