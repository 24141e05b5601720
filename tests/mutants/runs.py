"""Runs of the named tests: once without any bug, then with each bug in turn."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.mutants.bugs import Patch, PatchError
from tests.mutants.recorder import VARIABLE
from tests.mutants.trees import planted
from tests.run.levels import ENGINES
from tests.run.spreading import find_unit

HEAVY = frozenset({*ENGINES, "faults"})
"""Markers of tests that start a session or a server."""
LEAST_LIMIT = 180.0
"""Seconds that a run may take whatever it took without the bug, for sessions and servers to start."""
TIMES = 5.0
"""A run may take that many times what its tests took without the bug, on top."""
CLEAN_LIMIT = 3 * 3600.0
_TAIL = 25


class Verdict(StrEnum):
    """The outcome of a planted bug."""

    CAUGHT = "caught"
    LATE = "caught: time limit"
    SURVIVED = "SURVIVED"
    ERROR = "ERROR"


@dataclass(frozen=True)
class Ran:
    """One test of a run: its markers, its outcome, how long it took."""

    marks: frozenset[str]
    outcome: str
    seconds: float

    @property
    def is_failed(self) -> bool:
        return self.outcome == "failed"


@dataclass(frozen=True)
class Run:
    """One pytest process; no code when the time limit ended it."""

    code: int | None
    tests: Mapping[str, Ran]
    seconds: float
    output: str


@dataclass(frozen=True)
class Tried:
    """A bug that was planted and its verdict; with the output when that is an error."""

    patch: Patch
    verdict: Verdict
    seconds: float
    output: str = ""


@dataclass(frozen=True)
class Clean:
    """The named tests on the tree without any bug."""

    tests: Mapping[str, Ran]

    def find(self, nodes: Iterable[str]) -> list[Ran]:
        """The tests that node ids or paths of modules name."""
        return [test for node in nodes for name, test in self.tests.items() if is_named(name, node)]

    def is_heavy(self, patch: Patch) -> bool:
        return any(test.marks & HEAVY for test in self.find(patch.tests))

    def seconds(self, patch: Patch) -> float:
        return sum(test.seconds for test in self.find(patch.tests))


def is_named(name: str, node: str) -> bool:
    """Whether a test is the one that a node id names, or one of those."""
    return name == node or name.startswith((f"{node}::", f"{node}["))


def run_clean(patches: Sequence[Patch], copies: Mapping[Path, Mapping[str, str]]) -> Clean:
    """Run all tests that are named, without any bug, in copies of the tree side by side.

    ``copies``: the environment of each copy.

    Raises:
        PatchError: One failed, was not run, or is outside the short run.
    """
    shares = share_nodes({node for patch in patches for node in patch.tests}, len(copies))

    def run_share(place: tuple[Path, Mapping[str, str]], nodes: Sequence[str]) -> Run:
        return run_tests(*place, nodes, limit=CLEAN_LIMIT)

    with ThreadPoolExecutor(len(copies)) as pool:
        runs = list(pool.map(run_share, copies.items(), shares))
    clean, mistakes = Clean({name: test for run in runs for name, test in run.tests.items()}), list[str]()
    for run, nodes in zip(runs, shares, strict=True):
        mistakes += [f"{name} does not pass without any bug" for name, each in run.tests.items() if each.is_failed]
        if run.code in (0, 1, 5):  # else pytest itself says what is wrong
            mistakes += [f"{node} is no test of the short run" for node in nodes if not clean.find([node])]
        if run.code != 0:
            mistakes += [run.output, f"the run without any bug ended with {run.code}"]
    if mistakes:
        raise PatchError("\n".join(mistakes))
    return clean


def share_nodes(nodes: Collection[str], count: int) -> list[list[str]]:
    """The nodes in at most ``count`` shares of about as many; those of a unit of work stay together."""
    units: dict[str, list[str]] = {}
    for node in sorted(nodes):
        units.setdefault(find_unit(node), []).append(node)
    shares: list[list[str]] = [[] for _ in range(min(count, len(units)))]
    for unit in sorted(units.values(), key=len, reverse=True):
        min(shares, key=len).extend(unit)
    return shares


def try_patch(patch: Patch, copy: Path, clean: Clean, environ: Mapping[str, str] = os.environ) -> Tried:
    """Plant a bug and run its tests up to the first that fails.

    It is caught when a test failed, or when the tests took longer than they may: a bug that makes a job hang is
    noticed. Anything else that ends pytest, such as a module that cannot be imported, is an error of the patch.
    """
    with planted(patch, copy):
        run = run_tests(copy, environ, patch.tests, "-x", limit=LEAST_LIMIT + TIMES * clean.seconds(patch))
    has_failed = any(test.is_failed for test in run.tests.values())
    if run.code is None:
        verdict = Verdict.LATE
    elif run.code == 1 and has_failed:
        verdict = Verdict.CAUGHT
    else:
        verdict = Verdict.SURVIVED if run.code == 0 else Verdict.ERROR
    return Tried(patch, verdict, run.seconds, run.output if verdict is Verdict.ERROR else "")


def run_tests(copy: Path, environ: Mapping[str, str], nodes: Sequence[str], *options: str, limit: float) -> Run:
    """Run tests of a copy in a process group of their own, which ends when the time limit does."""
    with tempfile.TemporaryDirectory(prefix="lakehouse-run-") as folder:
        record, log = Path(folder) / "record.json", Path(folder) / "log"
        command = [str(copy / ".venv" / "bin" / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += ["-p", "tests.mutants.recorder", *options, *nodes]
        # Without bytecode: what Python keeps of a file is told apart by size and second alone.
        environment = {**environ, VARIABLE: str(record), "PYTHONDONTWRITEBYTECODE": "1"}
        started = time.monotonic()
        with log.open("wb") as stream:
            process = subprocess.Popen(
                command, cwd=copy, env=environment, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True
            )
            code = _wait(process, limit)
        seconds = time.monotonic() - started
        output = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL:])
        return Run(code, _read_record(record), seconds, output)


def _wait(process: subprocess.Popen[bytes], limit: float) -> int | None:
    """The exit code, or None after the time limit. Whatever the tests started and left is ended too."""
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _read_record(record: Path) -> dict[str, Ran]:
    if not record.exists():
        return {}
    tests = json.loads(record.read_text(encoding="utf-8"))
    return {
        name: Ran(frozenset(test["marks"]), str(test["outcome"]), float(test["seconds"]))
        for name, test in tests.items()
    }
