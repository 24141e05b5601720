"""How new the tables behind a report are, and which of them are late."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from spark_jobs.lake_report.steps import write_time
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.overview.models import LakeOverview, TableOverview


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The tables of a lake, as they were looked at for a report."""

    spec: LakeSpec
    seen: LakeOverview

    def late(self, tables: Collection[str]) -> tuple[str, ...]:
        """What is the matter with the tables, and with all that they are made of, a line each."""
        known: Mapping[str, TableOverview] = self.seen.by_name
        behind = sorted(self._behind(tables))
        found = [line for name in behind if name in known for line in self._of(known[name])]
        if self.seen.source_problem:
            found.append(f"what was delivered could not be looked at: {self.seen.source_problem}")
        return tuple(found)

    def _behind(self, tables: Collection[str]) -> set[str]:
        """The tables, and those that they are made of."""
        found, left = set[str](), [*tables]
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                left += self._made_of(name)
        return found

    def _made_of(self, name: str) -> tuple[str, ...]:
        if name in self.spec.mart_names:
            return self.spec.sources_of(self.spec.mart(name))
        return (self.spec.log,) if name in self.spec.split_tables else ()

    def _of(self, table: TableOverview) -> Iterator[str]:
        now, fresh = self.seen.now, table.freshness
        if table.problem:
            yield f"{table.name}: {table.problem}"
        if table.held:
            yield f"{table.name} is held back since {table.held.since}"
        if fresh and (words := fresh.behind(now, self._time)):
            yield f"{table.name} is behind: {words}, promised within {fresh.promise.behind_minutes} minutes"
        if fresh and (words := fresh.silent(now, self._time)):
            yield f"{table.name} is silent: {words}"

    def _time(self, moment: datetime) -> str:
        zone = self.spec.time_zone
        return f"{write_time(moment.astimezone(UTC).replace(tzinfo=None), zone)} ({zone})"
