"""The lake spec: which source columns there are and which tables and marts they become."""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.contracts.errors import raise_all
from spark_jobs.lake_spec.lake_parts import LakeParts
from spark_jobs.lake_spec.spec_mistakes import mistakes_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeSpec(LakeParts):
    """A whole lake. Refuses references to things it does not declare.

    Raises:
        ContractError: something does not fit together; all of it at once.
    """

    def __post_init__(self) -> None:
        self._share_nulls()
        self._arrange()
        raise_all(mistakes_of(self))
        self._share_names()
