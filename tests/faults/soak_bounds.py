"""What must not grow without end while a lake is at work: measured after every turn, compared over the whole run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

LEAST = 12
"""Fewer turns say nothing of growth."""
_MB = 1024 * 1024
_SLACK = {"files": 60, "instants": 12, "heap_mb": 40, "resident_mb": 60, "threads": 15, "descriptors": 40}
"""By how much the end may be above the middle, beside a fifth: what comes and goes within a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One moment: what the lake has, and what the process that serves and reads it takes."""

    files: int
    instants: int
    heap_mb: int
    resident_mb: int
    threads: int
    descriptors: int


def grown(samples: Sequence[Sample]) -> list[str]:
    """What grew: the most of the last third is far above the most of the third before it.

    In the first third a lake gets its first old states and a session warms up.
    """
    if len(samples) < LEAST:
        return []
    third = len(samples) // 3
    middle, end = samples[-2 * third : -third], samples[-third:]
    return list(_grown(middle, end))


def _grown(middle: Sequence[Sample], end: Sequence[Sample]) -> Iterator[str]:
    for field in fields(Sample):
        before, after = (max(getattr(sample, field.name) for sample in part) for part in (middle, end))
        if after > before * 1.2 + _SLACK[field.name]:
            yield f"{field.name} grew from {before} to {after}"


def take_sample(spark: SparkSession, lake: Path) -> Sample:
    """Measure now; the JVM collects its garbage first."""
    jvm: Any = spark._jvm
    jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    gateway: Any = spark.sparkContext._gateway
    files = [path for path in lake.rglob("*") if ".leases" not in path.parts and path.is_file()]
    return Sample(
        files=len(files),
        instants=sum(1 for path in files if path.parent.name == ".hoodie" and path.name[:17].isdigit()),
        heap_mb=(runtime.totalMemory() - runtime.freeMemory()) // _MB,
        resident_mb=_resident_mb(),
        threads=jvm.java.lang.Thread.activeCount(),
        descriptors=len(os.listdir(f"/proc/{gateway.proc.pid}/fd")),
    )


def _resident_mb() -> int:
    """Of this process, which is Python's."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // _MB
