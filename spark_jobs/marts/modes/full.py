"""Mode full: everything is computed again when something that the mart reads has changed."""

from __future__ import annotations

from spark_jobs.contracts.results import TableOutcome
from spark_jobs.marts.computing import full_difference
from spark_jobs.marts.modes.mode import ComputedAgain
from spark_jobs.marts.refresh import Refresh


class Full(ComputedAgain):
    """Any SQL that gives the same rows every time."""

    def write(self, refresh: Refresh, why_full: str) -> TableOutcome:
        """Commit the rows that differ."""
        return refresh.write(full_difference(refresh))
