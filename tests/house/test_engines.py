"""How the JVMs of tests are started."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.run.engines import jvm_environment


@pytest.mark.spark
@pytest.mark.parametrize("more", [{}, {"SPARK_DIST_CLASSPATH": "further.jar"}], ids=["", "further jar"])
def test_the_archive_of_classes_fits_the_class_path_that_sparks_launcher_gives(more: dict[str, str]) -> None:
    """Where it does not fit, Java works without it, and tests would take longer unnoticed."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    environment = jvm_environment(outside)
    for name, value in more.items():
        environment[name] += f":{value}"
    environment["SPARK_SUBMIT_OPTS"] += " -Xshare:on"  # ends with an error instead of working without it
    command = [f"{environment['SPARK_HOME']}/bin/spark-submit", "--version"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "version 3.5" in done.stderr
