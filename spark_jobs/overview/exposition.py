"""The metrics of a lake as Prometheus reads them, made by its own client."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from spark_jobs.contracts import metric_names as names
from spark_jobs.contracts.errors import LakehouseError
from spark_jobs.contracts.metric_names import Metric, MetricKind
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.overview.cache import LakeCache
from spark_jobs.overview.commit_counts import CommitCounts
from spark_jobs.overview.lake import LakeReading, read_lake
from spark_jobs.overview.quarantine import OpenRecords
from spark_jobs.overview.samples import Sample, quarantine_samples, samples_of

if TYPE_CHECKING:
    import logging

    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
    from prometheus_client.registry import CollectorRegistry

Read = TypeVar("Read")
_TOTAL = "_total"


@dataclass(frozen=True, kw_only=True)
class LakeCollector:
    """Reads the lake each time that it is collected from; two do not read it at the same time.

    What cannot be read is in the metric ``lakehouse_exporter_unread``, by part, and nothing else fails because of it.

    Args:
        settings: where the lake is.
        spec: gives the lake spec of now: patterns find tables while the exporter runs.
        now: the time at which freshness is judged.
        log: gets a line for each part that could not be read.
        counts: what was committed since it began; None for a single look, which has nothing to count.
    """

    settings: Settings
    spec: Callable[[], LakeSpec]
    now: Callable[[], datetime]
    log: logging.Logger
    counts: CommitCounts | None = None
    _quarantine: OpenRecords = field(default_factory=OpenRecords)
    _cache: LakeCache = field(default_factory=LakeCache)
    _lock: Lock = field(default_factory=Lock)

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        """Every metric with its values; those without a value have their help alone."""
        with self._lock:
            begun, found = time.monotonic(), list[Sample]()
            unread: dict[str, bool] = {}
            spec = self._read("spec", unread, self.spec)
            reading = spec and self._read(
                "lake", unread, lambda: read_lake(spec, self.settings, self.now(), cache=self._cache)
            )
            if reading:
                for part, read in self._parts(reading).items():
                    found += self._read(part, unread, read) or ()
            found += [
                Sample(metric=names.READ_ERRORS, labels=(part,), value=float(is_unread))
                for part, is_unread in unread.items()
            ]
            found.append(Sample(metric=names.READ_SECONDS, value=time.monotonic() - begun))
            lake = spec.lake if spec else ""
        metrics = names.LAKE_METRICS if self.counts else names.LAKE_STATE
        yield from _families(metrics, found, lake)

    def _parts(self, reading: LakeReading) -> dict[str, Callable[[], Sequence[Sample]]]:
        parts: dict[str, Callable[[], Sequence[Sample]]] = {"tables": lambda: list(samples_of(reading))}
        quarantine = reading.timelines.get(reading.spec.quarantine)
        if quarantine:
            parts["quarantine"] = lambda: list(quarantine_samples(self._quarantine.look(quarantine)))
        if counts := self.counts:
            parts["commits"] = lambda: list(counts.look(reading))
        return parts

    def _read(self, part: str, unread: dict[str, bool], read: Callable[[], Read]) -> Read | None:
        unread[part] = False
        try:
            return read()
        except LakehouseError as error:
            self.log.warning("%s could not be read: %s", part, error)
        except Exception:
            self.log.exception("%s could not be read", part)
        unread[part] = True
        return None


def make_registry(collector: LakeCollector) -> CollectorRegistry:
    """A registry with this collector alone: nothing of the process itself."""
    from prometheus_client.registry import CollectorRegistry

    # Without auto_describe nothing is read when it is registered: the first look is the first request's.
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    return registry


def _families(
    metrics: Iterable[Metric], samples: Iterable[Sample], lake: str
) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    by_metric: dict[str, list[Sample]] = {}
    for sample in samples:
        by_metric.setdefault(sample.metric.name, []).append(sample)
    for metric in metrics:
        is_counter = metric.kind is MetricKind.COUNTER
        made = CounterMetricFamily if is_counter else GaugeMetricFamily
        family = made(metric.name.removesuffix(_TOTAL), metric.help, labels=metric.all_labels)
        for sample in by_metric.get(metric.name, ()):
            family.add_metric((lake, *sample.labels), sample.value)
        yield family
