"""Superset for this machine: the lock of its image in an environment of its own, kept outside the tree.

Its requirements and ours do not fit into one environment. Tests and pictures of the dashboards start it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from local_stack.console import say
from local_stack.errors import DownloadError, find_reason
from local_stack.install.cache import filling_cache
from local_stack.install.jars import file_digest
from local_stack.layout import PROJECT_ROOT, VENV

LOCK = PROJECT_ROOT / "include" / "docker" / "superset" / "requirements.txt"
_DONE = ".complete"


def install_superset(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of its environment; the first call on a machine fetches it, which takes some minutes and 1.5 GB.

    Raises:
        SetupError: the cache cannot be written.
        DownloadError: a package could not be fetched, or is not what was locked.
    """
    with filling_cache(environ) as cache:
        folder = cache / f"superset-{file_digest(LOCK)[:12]}"
        if not (folder / _DONE).exists():
            _install(folder)
    return folder


def _install(folder: Path) -> None:
    say("superset: fetching it and its packages")
    shutil.rmtree(folder, ignore_errors=True)
    uv, python = str(VENV / "bin" / "uv"), str(folder / "bin" / "python")
    for command in (
        [uv, "venv", "--quiet", "--python", sys.executable, str(folder)],
        [uv, "pip", "install", "--quiet", "--require-hashes", "--python", python, "-r", str(LOCK)],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise DownloadError(f"Superset could not be fetched ({find_reason(done.stderr)}); try again")
    (folder / _DONE).touch()
