"""The launcher as the operators start it, with its output in pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

from lakehouse_provider.launch.job_process import LAUNCHER


def launch(
    command: Sequence[str],
    afterwards: Sequence[str] = (),
    *,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[str]:
    """Start a command below the launcher, which runs the command ``afterwards`` when this one was killed."""
    line = [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), json.dumps(afterwards), *command]
    return subprocess.Popen(
        line, env=environment, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
