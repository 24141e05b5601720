"""The levels of the test suite: what `make check`, `make test` and each slice run, as pytest marker expressions.

Every test is in exactly one of three places. Tests without an engine or a server are part of `make check`. Tests with
one are part of `make test`. What takes too long for every change carries the marker `slice` with a name and runs in
that slice only; `make test-all` runs all of them. This module needs the standard library alone: CI calls it before
anything is installed.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENGINES = ("e2e", "services", "hudi", "spark")
"""Markers of tests that need an engine or a server, those whose modules take longest first."""
_ANY_ENGINE = " or ".join(ENGINES)
CHECK = f"not slice and not ({_ANY_ENGINE})"
"""No JVM, no server: part of `make check`."""
SHORT = f"not slice and ({_ANY_ENGINE})"
"""With Spark, Hudi, servers or Airflow: what `make test` runs after `make check`."""
SLICES = {
    "airflow": "alerts out of a running Airflow; two lakes in one; the stack up and down; the lake page in Chromium",
    "airflow-approvals": "recompute, changed marts and erase with their approvals, in a running Airflow",
    "airflow-backfills": "backfills, also beside scheduled runs, and a killed task, in a running Airflow",
    "cloud": "jobs and the whole pipeline on an S3 server, their rights, a metastore, Trino and Athena's client",
    "clusters": "the jobs on a standalone Spark cluster and on YARN",
    "company": "the company's lake: its tables, its erased customer and its changed mart, in a running Airflow",
    "databases": "PostgreSQL and MariaDB through Debezium and Kafka; snapshots of MariaDB; served marts",
    "documents": "README and docs followed as they are written, from make demo on, in a fresh clone",
    "engines": "tables, views and checks read by Trino through a Hive metastore",
    "faults-commands": "commands that rewrite the lake, each cut off and followed by each other, and the way out",
    "faults-kills": "drivers that read from Kafka, killed at any moment",
    "faults-lakes": "the storage stops at what jobs write beside tables: index, consumers, marts, savepoints, restores",
    "faults-pairs": "the storage stops, and stops again in the recovery",
    "faults-races": "two drivers, or a driver and the services, on one table; backfills beside the schedule of a lake",
    "faults-soak": "a lake for a while: commits, kills and services, with Spark, the Rust reader and Trino beside",
    "faults-store": "an object store stops at requests of every kind of write and service",
    "faults-stops-1": "the storage stops at every kind of operation in writes and rollbacks of tables",
    "faults-stops-2": "the same in services and restores",
    "faults-weather": "requests to an object store fail, late or half-way, beside tables, jobs and two writers",
    "faults-zombies": "writers and services paused or killed while their retry works",
    "jobs": "more cases of single jobs: erase, restore, quarantine, resync, mirrors, Kafka's beginnings; runbooks",
    "laws": "more seeds of the laws: deliveries in any order, runs that die, processes that are killed",
    "laws-marts": "more seeds of the laws of marts",
    "live": "SQL statements followed from a database through Debezium, Kafka and Airflow into the lake",
    "stores": "S3's tests on a second S3 server, which is built with Go the first time",
    "tables": "more cases of tables and their quality: services, the row index, the gate and what it is compared with",
}
"""The rest of the suite, each about ten minutes on two cores. CI runs one of them for each tree."""


FAULTS = "faults-"
"""Beginning of the names of the slices that are the campaign of faults."""
ON_CLUSTERS = "clusters"
"""The slice whose tests start Spark with other variables than all others do."""


def slice_expression(name: str) -> str:
    """The marker expression that selects one slice."""
    return f"slice(name='{name}')"


def slice_runs(name: str) -> dict[str, str]:
    """The pytest runs, by name, and the marker expression of each, for one slice or for ``all``.

    All are three runs. The campaign of faults keeps every core busy by itself: beside other slices each point takes
    several times as long. Of the others one waits for Airflow or for a server while another one works.
    """
    if name != "all":
        return {f"slice-{name}": slice_expression(name)}
    faults = " or ".join(slice_expression(each) for each in SLICES if each.startswith(FAULTS))
    others = f"slice and not ({faults} or {slice_expression(ON_CLUSTERS)})"
    return {"faults": faults, "slices": others, **slice_runs(ON_CLUSTERS)}


def choose_slice(tree: str) -> str:
    """The slice for a tree of files, by its git hash: the same tree gives the same slice on every day and machine."""
    names = sorted(SLICES)
    return names[int(tree, 16) % len(names)]


def read_tree(folder: Path = ROOT) -> str:
    """The hash of the tree of the checked-out commit."""
    command = ["git", "rev-parse", "HEAD^{tree}"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    """Print the slice of the checked-out tree, or all slices."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="python3 -m tests.run.levels", description=__doc__)
    parser.add_argument("--list", action="store_true", help="print every slice with what it covers")
    if parser.parse_args().list:
        width = max(map(len, SLICES))
        for name, what in sorted(SLICES.items()):
            print(f"{name:{width}}  {what}")
    else:
        print(choose_slice(read_tree()))


if __name__ == "__main__":
    main()
