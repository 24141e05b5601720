"""``kill -9`` of a driver that takes messages from Kafka, at random moments, while the broker comes and goes.

A lake has the topics of several seeded schedules (tests.support.schedules), with one to three partitions each, and a
driver that runs ingest of a few messages at a time, and split now and then, until it is killed with its whole group.
Here the same two jobs are run again, whole or a few messages, while the next driver starts. After the last message
all tables must be what the oracle says, by both readers, and one more run must find nothing to do.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.faults.drivers import Driver, Task, open_driver
from tests.faults.verdicts import Point, Tried, judge_lake, retry
from tests.support.kafka import Topics, running_kafka
from tests.support.kafka_lakes import KafkaLake
from tests.support.lakes import assert_equals_oracle, read_shipped_spec, write_spec
from tests.support.schedules import ROUNDS, build_schedule

KIND = "ingest from Kafka, killed"
SCHEDULES = 5
"""In each lake, side by side."""
_KILLS = 2
"""In each round, each after a part of its messages."""
_LONGEST = 7.0
"""A driver is killed within so many seconds; it has more to do than that."""


def kill_drivers(spark: SparkSession, folder: Path, seeds: range) -> Tried:
    """One lake a seed."""
    points, kills = [], 0
    for seed in seeds:
        with ExitStack() as stack:
            place = folder / str(seed)
            place.mkdir(parents=True)
            lake = _Killed(spark, place, seed, stack)
            points.append(lake.run())
            kills += lake.kills
    return Tried(kind=KIND, operations=kills, points=tuple(points))


class _Killed:
    """A lake, its broker and its drivers."""

    def __init__(self, spark: SparkSession, folder: Path, seed: int, stack: ExitStack) -> None:
        self._seed, self._stack = seed, stack
        self._rng = random.Random(f"{KIND}/{seed}")
        self._broker = stack.enter_context(running_kafka(folder))
        self._topics = Topics(servers=self._broker.address)
        write_spec(folder, read_shipped_spec())
        self._lake = KafkaLake(spark=spark, folder=folder, servers=self._broker.address)
        self._schedules = [build_schedule(600 + seed, number) for number in range(SCHEDULES)]
        self._next: Driver | None = None
        self._moments: list[float] = []
        self.kills = 0

    def run(self) -> Point:
        """Deliver everything, with kills on the way, and judge."""
        partitions = {schedule.topic: self._rng.randint(1, 3) for schedule in self._schedules}
        for topic, count in partitions.items():
            self._topics.create(topic, partitions=count, max_message_bytes="8000000")
        stuck, slowest = "", 0.0
        for number in range(ROUNDS):
            for part in range(_KILLS):
                for schedule in self._schedules:
                    self._send(schedule.topic, schedule.rounds[number][part::_KILLS], partitions[schedule.topic])
                stuck = stuck or self._kill_one()
                begun = time.monotonic()
                stuck = stuck or self._recover()
                slowest = max(slowest, time.monotonic() - begun)
            if number < ROUNDS - 1:
                self._broker.folder.stop_all()
                self._broker.start()
        stuck = stuck or retry(self._take_all)
        moments = ", ".join(f"{moment:.1f}" for moment in self._moments)
        operation = f"seed {self._seed}, killed after {moments} s"
        return judge_lake(KIND, operation, self._lake, self._assert_right, stuck=stuck, seconds=slowest)

    def _send(self, topic: str, texts: Sequence[bytes], partitions: int) -> None:
        """More messages; which partition each goes to is chance."""
        lines: list[list[bytes | None]] = [[] for _ in range(partitions)]
        for text in texts:
            self._rng.choice(lines).append(None if text == b"null" else text)
        for partition, values in enumerate(lines):
            self._topics.send(topic, values, partition=partition)

    def _kill_one(self) -> str:
        """The error that the driver came to before it was killed, or ""."""
        driver = self._next or self._start()
        driver.wait_until_ready()
        jobs: list[tuple[str, dict[str, Any]]] = [("ingest", {"max_events": self._rng.randint(2, 12)})] * 3
        driver.begin(Task(base=str(self._lake.folder), servers=self._lake.servers, jobs=[*jobs, ("split", {})] * 10))
        moment = self._rng.uniform(0.0, _LONGEST)
        time.sleep(moment)
        self.kills += driver.is_at_work
        error = "" if driver.is_at_work else driver.outcome()
        driver.kill()
        self._moments.append(moment)
        if len(self._moments) < ROUNDS * _KILLS:
            self._next = self._start()
        return error

    def _start(self) -> Driver:
        return self._stack.enter_context(open_driver(waits=False))

    def _recover(self) -> str:
        """The error of the runs after a kill, or ""."""
        options: dict[str, Any] = {"max_events": self._rng.randint(20, 100)} if self._rng.random() < 0.5 else {}
        return retry(partial(self._lake.run, "ingest", **options)) or retry(partial(self._lake.run, "split"))

    def _take_all(self) -> None:
        self._lake.take_all()
        self._lake.run("split")

    def _assert_right(self) -> None:
        assert_equals_oracle(self._lake, [text for schedule in self._schedules for text in schedule.lines])
        reasons = {text: reason for schedule in self._schedules for text, reason in schedule.reasons.items()}
        assert {bytes(row["raw"]): row["reason"] for row in self._lake.rows("quarantine")} == reasons
        before = self._lake.instants()
        assert {self._lake.run(job).status for job in ("ingest", "split")} == {"nothing_to_do"}
        assert self._lake.instants() == before
