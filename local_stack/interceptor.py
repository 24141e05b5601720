"""Keeps other machines out of the Spark Connect server, which in 3.5 listens on every interface and trusts everybody.

A gRPC interceptor of a few lines of Scala, compiled once with the compiler that is among PySpark's own jars.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

from local_stack.errors import SetupError

SOURCE = Path(__file__).with_name("LoopbackOnly.scala")
CLASS = "lakehouse.connect.LoopbackOnly"
_COMPILE_SECONDS = 180


def build_interceptor(folder: Path, *, java_home: Path, spark_home: Path, connect_jar: str) -> Path:
    """Give the jar with the interceptor, compiled into ``folder`` when it is not there yet.

    Raises:
        SetupError: it does not compile.
    """
    digest = hashlib.sha256(SOURCE.read_bytes() + Path(connect_jar).name.encode()).hexdigest()[:16]
    jar = folder / f"loopback-only-{digest}.jar"
    if jar.exists():
        return jar
    folder.mkdir(parents=True, exist_ok=True)
    scala = [str(file) for file in sorted((spark_home / "jars").glob("scala-*.jar"))]
    with tempfile.TemporaryDirectory(dir=folder) as work:
        made = Path(work) / jar.name
        command = [
            *(str(java_home / "bin" / "java"), "-Xmx512m", "-cp", ":".join(scala), "scala.tools.nsc.Main"),
            *("-classpath", ":".join([connect_jar, *scala]), "-d", str(made), str(SOURCE)),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_COMPILE_SECONDS)
        if done.returncode or not made.exists():
            said = (done.stderr + done.stdout).strip().splitlines() or ["it said nothing"]
            raise SetupError(f"{SOURCE.name} does not compile ({said[0]}); run 'make setup' again")
        os.replace(made, jar)
    return jar
