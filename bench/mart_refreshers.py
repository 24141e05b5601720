"""The product's own job `mart`, by what is new and in full."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame

from bench.lake import HistoryLake, stage, wide
from bench.refreshing import Refresher


class Ours(Refresher):
    """`mart --layer L`: what a schedule runs."""

    name = "ours"

    def __init__(self, lake: HistoryLake, layer: str) -> None:
        self._lake, self._layer = lake, layer

    def compute_first(self, clock: datetime) -> str:
        """Compute the marts for the first time; gives a line on how long that took."""
        with (
            stage(f"{self.name}: computing {self._layer} for the first time") as taken,
            wide(self._lake.spark, self._lake.history),
        ):
            self._run(clock)
        return f"Computing the layer for the first time: {taken['seconds']:.1f} s."

    def refresh(self, clock: datetime) -> None:
        self._run(clock)

    def rows(self, mart: str) -> DataFrame:
        return self._lake.rows(mart)

    def _run(self, clock: datetime, **options: Any) -> None:
        self._lake.refresh(self._layer, clock, **options)


class OursInFull(Ours):
    """`mart --layer L --full`: everything is recomputed, and what differs from the stored rows is committed."""

    name = "mart --full"

    def refresh(self, clock: datetime) -> None:
        with wide(self._lake.spark, self._lake.history):
            self._run(clock, full=True)
