"""Servers whose programs come with PySpark, on a free port of this machine, ended by their process id."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from local_stack.connect_server import spark_home
from local_stack.java import find_java
from local_stack.services import LOOPBACK
from tests.support.processes import end_with_the_tests, wait_until


@contextmanager
def running_spark_jar(folder: Path, options: Sequence[str], command: Sequence[str], *, port: int) -> Iterator[None]:
    """Run ``command``, a main class and its arguments, in ``folder`` from when ``port`` answers to the block's end."""
    jars = ":".join(str(jar) for jar in sorted((spark_home() / "jars").glob("*.jar")))
    line = [str(find_java().home / "bin" / "java"), *options, "-cp", jars, *command]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(line, cwd=folder, stdout=log, stderr=log, preexec_fn=end_with_the_tests)
    try:
        wait_until(lambda: _answers(port), f"{command[0]} answers")
        yield
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1):
            return True
    except OSError:
        return False
