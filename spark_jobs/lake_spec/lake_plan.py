"""The plan of a lake: what its files define otherwise than its rows were computed, and what ``apply`` would do."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from spark_jobs.contracts.errors import ContractError, StalePlanError
from spark_jobs.contracts.instants import NO_INSTANT, Instant
from spark_jobs.contracts.names import show

HEADER = ("table", "changed", "what apply does", "rows", "partitions", "bytes", "last full refresh", "downstream")
APPLY = "apply"
"""The job that carries a plan out; its savepoint is the plan's way back."""
_ID = re.compile(r"plan-[0-9]{8}T[0-9]{6}")


def is_plan_id(text: str) -> bool:
    """Whether a text is the id of a plan, and so none of a file."""
    return bool(_ID.fullmatch(text))


class Action(StrEnum):
    """What can be done about a change."""

    RECOMPUTE = "recompute"
    """``apply`` computes the mart again from its sources, in one commit."""
    REBUILD = "rebuild"
    """``apply`` makes the table again from the whole log, in one commit, and refreshes the marts that read it."""
    LATER = "later events only"
    """Nothing has to be done: rows that are there stay, what comes is treated as the files say."""
    IMPOSSIBLE = "cannot be done"
    """``apply`` leaves it; the remedy says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionChange:
    """One mart or table with another definition than its rows. ``seconds`` is what its last full refresh took.

    ``rows`` is None where the table's commits do not record it. ``instant`` is its newest commit that changed rows.
    """

    table: str
    changed: tuple[str, ...]
    action: Action
    instant: Instant
    remedy: str = ""
    rows: int | None = None
    partitions: int = 0
    bytes: int = 0
    seconds: float | None = None
    downstream: tuple[str, ...] = ()

    def cells(self) -> tuple[object, ...]:
        """One row of the printed table, under ``HEADER``."""
        took = None if self.seconds is None else f"{self.seconds:,.0f} s"
        downstream = ", ".join(self.downstream) or None
        changed, action = ", ".join(self.changed), self.action.value
        return (self.table, changed, action, self.rows, self.partitions or None, self.bytes, took, downstream)

    def describe(self) -> str:
        """One line for the log."""
        return f"{self.table}: {', '.join(self.changed)} changed: {self.action}{f': {self.remedy}' * bool(self.remedy)}"

    def facts(self) -> dict[str, Any]:
        """Itself for YAML and JSON."""
        content = asdict(self)
        return {**content, "action": self.action.value, **{name: list(content[name]) for name in _LISTS}}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> DefinitionChange:
        """What :meth:`facts` gave; ValueError, TypeError or KeyError when it is something else."""
        lists = {name: tuple(map(str, facts[name])) for name in _LISTS}
        return cls(**{**facts, **lists, "action": Action(facts["action"]), "instant": Instant(str(facts["instant"]))})


_LISTS = ("changed", "downstream")


@dataclass(frozen=True, slots=True, kw_only=True)
class LakePlan:
    """All changes of a lake at one moment; ``digest`` is of the files that it was made from."""

    id: str
    lake: str
    made_at: str
    digest: str
    changes: tuple[DefinitionChange, ...] = ()

    @property
    def recomputed(self) -> tuple[DefinitionChange, ...]:
        """The marts that ``apply`` computes again."""
        return tuple(change for change in self.changes if change.action is Action.RECOMPUTE)

    @property
    def rebuilt(self) -> tuple[DefinitionChange, ...]:
        """The tables that ``apply`` makes again."""
        return tuple(change for change in self.changes if change.action is Action.REBUILD)

    @property
    def applied(self) -> tuple[DefinitionChange, ...]:
        """All that ``apply`` carries out."""
        return (*self.rebuilt, *self.recomputed)

    def to_yaml(self) -> str:
        """The text of a plan file."""
        import yaml

        content = {**asdict(self), "changes": [change.facts() for change in self.changes]}
        text: str = yaml.safe_dump(content, sort_keys=False, width=120)
        return text

    @classmethod
    def from_yaml(cls, text: bytes | str, path: str) -> LakePlan:
        """Read what :meth:`to_yaml` wrote; ContractError when it is something else."""
        import yaml

        try:
            content = yaml.safe_load(text)
            changes = tuple(map(DefinitionChange.from_facts, content.pop("changes")))
            plan = cls(changes=changes, **{name: str(value) for name, value in content.items()})
        except (yaml.YAMLError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ContractError(f"{show(path)} is no plan file; make one with: plan --output FILE") from error
        if not is_plan_id(plan.id):
            raise ContractError(f"{show(path)} has the id {show(plan.id)}, which is none; make a new plan file")
        return plan

    def of_chosen(self, names: Collection[str], reads: Mapping[str, Collection[str]]) -> LakePlan:
        """The changes of these alone, and of what the marts among them read: their new rows are computed from it.

        Args:
            names: the marts and tables.
            reads: what each mart of the lake reads. What a mart reads counts as far as it is changed itself; behind a
                table that is not, nothing has to be done first.
        """
        changed = {change.table for change in self.changes}
        found, left = set[str](), list(names)
        while left:
            if (name := left.pop()) not in found:
                found.add(name)
                left += [read for read in reads.get(name, ()) if read in changed]
        return replace(self, changes=tuple(change for change in self.changes if change.table in found))

    def check(self, now: LakePlan, kept: Mapping[str, Instant]) -> None:
        """Raise StalePlanError when the lake or its files are not those that the plan was made from.

        Args:
            now: the plan that would be made now.
            kept: the states that an earlier try of this plan's ``apply`` has kept, before it changed anything.
        """
        if (self.lake, self.digest) != (now.lake, now.digest):
            raise StalePlanError(plan=self.id, reason="the files are not those that it was made from")
        for name in _moved(self.applied, {change.table: change for change in now.applied}, kept):
            raise StalePlanError(plan=self.id, reason=f"{name} was written since it was made")


def _moved(
    planned: Iterable[DefinitionChange], now: Mapping[str, DefinitionChange], kept: Mapping[str, Instant]
) -> Iterator[str]:
    for change in planned:
        found = now.get(change.table)
        state = kept.get(change.table, NO_INSTANT)
        # What is kept of a table is its newest commit, which may be one of a service after the newest change.
        is_of_then = state >= change.instant if change.action is Action.REBUILD else state == change.instant
        is_done = found is None and is_of_then
        is_same = found is not None and (found.instant, found.changed) == (change.instant, change.changed)
        if not is_done and not is_same:
            yield change.table
