"""kill -9 of the driver in the middle of a job, then the same command: right tables (law 2).

3,000 events of 200 sales arrive in two parts. Of the first part ingest, of the second split runs as a process of its
own, which is killed with its whole group, the JVM included, as soon as a certain file of a commit appears: the
announcement of the log's first commit (so its creation is cut off), the completion of ``units`` while other tables are
being written. The rerun, another process, waits until the heartbeat of the dead writer has ended; so kills are few. The
campaign of faults kills drivers at other moments of writes (tests/faults/zombies.py, tests/faults/kills.py).
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from tests.support import commands
from tests.support.contexts import CLOCK
from tests.support.envelopes import line, sqlserver
from tests.support.lakes import Lake, assert_equals_oracle

pytestmark = [pytest.mark.hudi, pytest.mark.faults, pytest.mark.slice(name="laws")]

ARGUMENTS = ("--clock", CLOCK.isoformat())


def events(seed: int, count: int) -> list[bytes]:
    rng = random.Random(seed)
    rows = [
        {
            "SaleId": rng.randrange(200),
            "UnitId": rng.randrange(50),
            "UnitName": rng.choice(("a", "b", None)),
            "AgentId": rng.randrange(5),
            "StatusId": rng.choice((1, 2, None)),
            "ContractSubtotal": rng.choice((None, "10.0000", "12.3456")),
        }
        for _ in range(count)
    ]
    return [line(sqlserver(rng.choice("cuuuud"), row, rng.randrange(10**4))) for row in rows]


def environment(lake: Lake) -> dict[str, str]:
    settings = lake.settings
    return {
        "LAKEHOUSE_BASE_PATH": settings.base_path,
        "LAKEHOUSE_LANDING_PATH": settings.landing_path,
        "LAKEHOUSE_LAKE_SPEC": settings.lake_spec,
    }


def run_and_kill(lake: Lake, job: str, table: str, pattern: str) -> None:
    """Start the job and kill it when a new file of this pattern appears on the table's timeline."""
    timeline = Path(lake.path(table), ".hoodie")
    before = set(timeline.glob(pattern))
    with commands.start(job, *ARGUMENTS, environment=environment(lake), log=lake.folder / f"{job}.log") as process:
        while process.poll() is None and not set(timeline.glob(pattern)) - before:
            time.sleep(0.002)
        assert process.poll() is None, (lake.folder / f"{job}.log").read_text()
        os.killpg(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL


def run_again(lake: Lake, job: str) -> None:
    commands.run_well(job, *ARGUMENTS, environment=environment(lake))


def test_killed_and_run_again(lake):
    first, second = events(1, 2000), events(2, 1000) + events(1, 200)
    commands.init(environment(lake))
    lake.land("first.jsonl", [*first, b"broken"])
    run_and_kill(lake, "ingest", "sales_log", "*.requested")
    run_again(lake, "ingest")
    lake.run("split")
    assert_equals_oracle(lake, [*first, b"broken"])
    lake.land("second.jsonl.gz", [*second, b"broken too"], is_gzip=True)
    lake.run("ingest")
    run_and_kill(lake, "split", "units", "*.deltacommit")
    run_again(lake, "split")
    assert_equals_oracle(lake, [*first, *second, b"broken", b"broken too"])
    before = lake.instants()
    assert [lake.run(job).status for job in ("ingest", "split")] == ["nothing_to_do"] * 2
    assert lake.instants() == before
