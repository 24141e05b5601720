"""Every test that needs more than Python, in two pytest processes that take about as long as each other.

The first has the tests of a whole Airflow, which waits a lot, and then the campaign of faults, which has a session of
its own anyway; the second has the rest. The first one's output comes when the second is through.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from spark_jobs.contracts.settings import PROJECT_ROOT

FIRST = "e2e or faults"
SECOND = f"not ({FIRST}) and (spark or hudi or services)"
_PYTEST = (sys.executable, "-m", "pytest", "-m")


def main() -> int:
    """Run both; 0 when all tests of both pass."""
    with tempfile.TemporaryDirectory(prefix="lakehouse-first-") as folder:
        log = Path(folder) / "output"
        with log.open("wb") as stream:
            first = subprocess.Popen([*_PYTEST, FIRST], cwd=PROJECT_ROOT, stdout=stream, stderr=subprocess.STDOUT)
        try:
            second = subprocess.run([*_PYTEST, SECOND], cwd=PROJECT_ROOT).returncode
            print("waiting for the end-to-end tests", flush=True)
            first.wait()
        except BaseException:
            first.terminate()
            first.wait()
            raise
        print(log.read_text(encoding="utf-8", errors="replace"), flush=True)
    for name, code in (("end-to-end tests and faults", first.returncode), ("all other tests", second)):
        print(f"{name}: {'passed' if code == 0 else f'FAILED, see above (pytest ended with {code})'}")
    return int(bool(second or first.returncode))


if __name__ == "__main__":
    sys.exit(main())
