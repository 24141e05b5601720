"""Every test that needs more than Python, in two pytest processes: those of a whole Airflow, and beside them the rest.

Airflow waits a lot, and so do those who wait for it; run one after the other, the machine would be idle half of the
time. The end-to-end tests' output comes when the others are through.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from spark_jobs.contracts.settings import PROJECT_ROOT

_PYTEST = (sys.executable, "-m", "pytest", "-m")


def main() -> int:
    """Run both; 0 when all tests of both pass."""
    with tempfile.TemporaryDirectory(prefix="lakehouse-e2e-") as folder:
        log = Path(folder) / "output"
        with log.open("wb") as stream:
            airflow = subprocess.Popen([*_PYTEST, "e2e"], cwd=PROJECT_ROOT, stdout=stream, stderr=subprocess.STDOUT)
        try:
            others = subprocess.run([*_PYTEST, "not e2e and (spark or hudi or services)"], cwd=PROJECT_ROOT).returncode
            airflow.wait()
        except BaseException:
            airflow.terminate()
            airflow.wait()
            raise
        print(log.read_text(encoding="utf-8", errors="replace"), flush=True)
    for name, code in (("end-to-end tests", airflow.returncode), ("all other tests", others)):
        print(f"{name}: {'passed' if code == 0 else f'FAILED, see above (pytest ended with {code})'}")
    return int(bool(others or airflow.returncode))


if __name__ == "__main__":
    sys.exit(main())
