"""The jars that Spark is started with, in the folder of ``LAKEHOUSE_JARS_PATH``."""

from __future__ import annotations

from pathlib import Path

from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.names import show_path
from spark_jobs.contracts.settings import PREFIX, Settings
from spark_jobs.contracts.shipped import CHECKOUT

_VARIABLE = f"{PREFIX}JARS_PATH"
_PAGE = "docs/existing-airflow.md"


def find_jars(settings: Settings) -> list[str]:
    """The jar files there; SettingsError when Hudi's is not among them."""
    if not settings.jars_path:
        raise SettingsError(f"{_VARIABLE} is not set; set it to the folder of Hudi's and Spark's other jars ({_PAGE})")
    jars = sorted(str(jar) for jar in Path(settings.jars_path).glob("*.jar"))
    if not any("hudi" in Path(jar).name for jar in jars):
        remedy = (
            f"run: make setup (or set {_VARIABLE})"
            if CHECKOUT
            else f"copy the jars there, or set {_VARIABLE} ({_PAGE})"
        )
        raise SettingsError(f"no Hudi jar in {show_path(settings.jars_path)}; {remedy}")
    return jars
