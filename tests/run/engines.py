"""How the JVMs of tests are started: cheaply, since each works for minutes and on small tables."""

from __future__ import annotations

from collections.abc import Mapping

from tests.run.levels import ROOT

_JVM_OPTIONS = "-XX:TieredStopAtLevel=1"
"""For every JVM that Spark's launcher starts: tests are over before the second compiler pays off; a third less work."""
_HADOOP_DEFAULTS = ROOT / "tests" / "run" / "hadoop"
"""Takes the place of Hadoop's 600 defaults for HDFS, MapReduce and YARN, which the short run has no use for. Hudi puts
the whole configuration into every Spark task, so they are a tenth of all that its tests cost."""


def jvm_environment(environ: Mapping[str, str], *, has_yarn: bool = False) -> dict[str, str]:
    """``environ`` with the variables that Spark's launcher reads; with YARN's defaults where a test needs them."""
    options = f"{environ.get('SPARK_SUBMIT_OPTS', '')} {_JVM_OPTIONS}".strip()
    defaults = {} if has_yarn else {"SPARK_CONF_DIR": str(_HADOOP_DEFAULTS)}
    return {**environ, **defaults, "SPARK_SUBMIT_OPTS": options}
