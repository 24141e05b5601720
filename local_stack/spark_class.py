"""Servers whose programs come with PySpark's jars: started by their main class, without Spark."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from local_stack.connect_server import spark_home
from local_stack.java import find_java
from local_stack.services import RunFolder, Service


def start_spark_class(
    folder: RunFolder,
    name: str,
    command: Sequence[str],
    *,
    port: int,
    options: Sequence[str] = (),
    jars: Sequence[str] = (),
    environ: Mapping[str, str] = os.environ,
) -> Service:
    """Start ``command``, a main class and its arguments, with Java ``options`` and with ``jars`` beside PySpark's."""
    path = ":".join([*(str(jar) for jar in sorted((spark_home() / "jars").glob("*.jar"))), *jars])
    java = str(find_java(environ).home / "bin" / "java")
    return folder.start(name, [java, *options, "-cp", path, *command], environment=environ, port=port, cwd=folder.path)
