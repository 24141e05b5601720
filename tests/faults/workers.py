"""A campaign in several processes: most of the time it waits for heartbeats to end, which others can use."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.faults.slices import Share
from tests.faults.verdicts import Point, Tried

_TAIL = 2000


def run_shares(shares: Sequence[Share], options: Sequence[str], workers: int) -> list[Tried]:
    """Every share in a process of its own, so many at a time; what each found, in their order.

    ``options`` say how much of each share is tried. A process that dies before it could say what it found is a point
    that is stuck.
    """
    begun, left = time.monotonic(), len(shares)

    def run(share: Share) -> list[Tried]:
        nonlocal left
        found = _run(share, options)
        left -= 1
        minutes = (time.monotonic() - begun) / 60
        for tried in found:
            wrong = sum(bool(point.wrong) for point in tried.points)
            print(
                f"{minutes:5.1f} min  {tried.kind}: {len(tried.points)} points, {wrong} wrong; {left} to go",
                file=sys.stderr,
                flush=True,
            )
        return found

    with ThreadPoolExecutor(workers) as pool:
        return [tried for found in pool.map(run, shares) for tried in found]


def _run(share: Share, options: Sequence[str]) -> list[Tried]:
    with tempfile.TemporaryDirectory(prefix="lakehouse-share-") as folder:
        found, log = Path(folder) / "found.json", Path(folder) / "log"
        line = [sys.executable, "-m", "tests.faults.campaign", *options, *share.arguments, "--json", str(found)]
        with log.open("wb") as stream:
            code = subprocess.run(line, cwd=PROJECT_ROOT, stdout=stream, stderr=subprocess.STDOUT).returncode
        if found.exists():
            return [_read(fields) for fields in json.loads(found.read_text(encoding="utf-8"))]
        tail = " ".join(log.read_text(encoding="utf-8", errors="replace")[-_TAIL:].split())
    died = Point(kind=share.kind, operation=share.part, seconds=0.0, stuck=f"the process ended with {code}: {tail}")
    return [Tried(kind=share.kind, operations=0, points=(died,))]


def _read(fields: dict[str, Any]) -> Tried:
    return Tried(**{**fields, "points": tuple(Point(**point) for point in fields["points"])})
