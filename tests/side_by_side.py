"""Every test that needs more than Python, in pytest processes side by side that wait a lot, each for something else.

One has the tests of a whole Airflow, of whole chains, and then the campaign of faults, whose sessions are processes of
their own; one has what asks servers of the tests' own; the last one, whose output comes at once, has the rest. That of
the others comes at the end. Each takes about as long as the others.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from spark_jobs.contracts.settings import PROJECT_ROOT

BESIDE = {"end-to-end tests and faults": "e2e or faults", "services": "services and not e2e and not faults"}
REST = "not e2e and not faults and not services and (spark or hudi)"
_PYTEST = (sys.executable, "-m", "pytest", "-m")


def main() -> int:
    """Run all of them; 0 when all tests of all pass."""
    codes: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="lakehouse-tests-") as folder, ExitStack() as started:
        beside = {name: _start(marks, Path(folder) / marks, started) for name, marks in BESIDE.items()}
        codes["all other tests"] = subprocess.run([*_PYTEST, REST], cwd=PROJECT_ROOT).returncode
        for name, process in beside.items():
            print(f"waiting for the {name}", flush=True)
            codes[name] = process.wait()
            print((Path(folder) / BESIDE[name]).read_text(encoding="utf-8", errors="replace"), flush=True)
    for name, code in codes.items():
        print(f"{name}: {'passed' if code == 0 else f'FAILED, see above (pytest ended with {code})'}")
    return int(any(codes.values()))


def _start(marks: str, log: Path, started: ExitStack) -> subprocess.Popen[bytes]:
    """Start the tests with these marks; they end with ``started`` at the latest."""
    stream = started.enter_context(log.open("wb"))
    process = subprocess.Popen([*_PYTEST, marks], cwd=PROJECT_ROOT, stdout=stream, stderr=subprocess.STDOUT)
    started.callback(process.wait)
    started.callback(process.terminate)
    return process


if __name__ == "__main__":
    sys.exit(main())
