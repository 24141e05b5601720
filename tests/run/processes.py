"""What a test process and everything it started have used, and which programs it started: facts of /proc and Popen."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tests.run.shared_spark import find_jvm
from tests.support.processes import find_children, find_descendants, read_processes

_TICKS = os.sysconf("SC_CLK_TCK")
_PROGRAMS = {
    "Spark Connect server": r"SparkConnectServer",
    "Kafka Connect": r"ConnectDistributed|ConnectStandalone",
    "Kafka": r"kafka\.Kafka\b",
    "Hive metastore": r"HiveMetaStore",
    "ZooKeeper": r"ZooKeeperServerMain",
    "Trino": r"trino.*launcher|io\.trino\.server",
    "YARN": r"yarn\.server\.|MiniYARN|ResourceManager|NodeManager",
    "Spark standalone": r"deploy\.(?:master|worker)\.",
    "PostgreSQL": r"\bpostgres -D",
    "MariaDB": r"\bmariadbd\b",
    "S3 server": r"moto_server|moto\.server|versitygw|local_stack\.aws_server",
    "Airflow": r"airflow.*(?:scheduler|api-server|dag-processor|triggerer)",
    "make or local_stack": r"-m local_stack ",
    "Spark session": r"pyspark-shell",
    "job process": r"-m spark_jobs\.entrypoint|spark-submit",
}
"""Programs worth counting, by what their command line contains; the first that fits."""


def used_seconds() -> float:
    """Processor seconds of this process and of its descendants, those that ended among them.

    And its share of the Spark that the processes of a run have in common: what each uses of it cannot be told apart.
    """
    stats, jvm = read_processes(), find_jvm()
    children = find_children(stats)

    def used(pid: int) -> float:
        return sum(_used(stats[process]) for process in (pid, *find_descendants(pid, children)) if process in stats)

    return used(os.getpid()) + (used(jvm) / _workers() if jvm else 0.0)


def name_program(words: Sequence[str]) -> str:
    """Which of the counted programs a command line starts; empty for any other."""
    line = " ".join(words)
    return next((name for name, pattern in _PROGRAMS.items() if re.search(pattern, line)), "")


def watch_programs(report: Callable[[str], None]) -> None:
    """Call ``report`` with the name of each counted program that this process starts from now on."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen":
            words = arguments[1]
            line = [words] if isinstance(words, str) else [os.fsdecode(word) for word in words]
            if name := name_program(line):
                report(name)

    sys.addaudithook(hook)


def _workers() -> int:
    """How many pytest processes the run has."""
    return int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))


def _used(fields: Sequence[str]) -> float:
    return sum(map(int, fields[11:15])) / _TICKS
