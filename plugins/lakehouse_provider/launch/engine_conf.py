"""Which engine a connection names, and the Spark settings of a job there: a profile, and what the connection says.

A profile is ``include/engines/<engine>.yaml``: names of Spark settings with their values.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from lakehouse_provider.launch.job_command import ConnectionFacts
from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.contracts.session_rules import own_settings
from spark_jobs.contracts.settings import PREFIX
from spark_jobs.contracts.shipped import SHIPPED
from spark_jobs.spec_files.documents import mapping, read_document

PROFILES = SHIPPED / "engines"
UTC = "-Duser.timezone=UTC"
_DEFAULTS = {
    "spark.driver.extraJavaOptions": f"{UTC} -XX:+UseParallelGC -XX:ReservedCodeCacheSize=512m",
    "spark.log.level": "WARN",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_BY_VARIABLE = {
    "spark.driver.memory": f"{PREFIX}DRIVER_MEMORY",
    "spark.sql.shuffle.partitions": f"{PREFIX}SHUFFLE_PARTITIONS",
}
"""Settings of the project that are settings of Spark: one that was set goes before a profile's value."""


class LaunchEngine(StrEnum):
    """Where jobs run when they are submitted."""

    STANDALONE = "standalone"
    YARN = "yarn"
    KUBERNETES = "kubernetes"
    EMR_SERVERLESS = "emr_serverless"


_MASTERS = {LaunchEngine.STANDALONE: "spark://", LaunchEngine.YARN: "yarn", LaunchEngine.KUBERNETES: "k8s://"}


def engine_of(connection: ConnectionFacts) -> LaunchEngine | None:
    """``engine`` of the connection's extra, else by its host; None for a host without a cluster (``local[2]``).

    Raises:
        SettingsError: there is no such engine, or the host is of another one.
    """
    host, named = connection.host or "", connection.extra_dejson.get("engine")
    by_host = next((engine for engine, start in _MASTERS.items() if host.startswith(start)), None)
    if not named:
        return by_host
    try:
        engine = LaunchEngine(str(named))
    except ValueError as error:
        raise SettingsError(
            f"connection {connection.conn_id}: there is no engine {named!r}; known are {', '.join(LaunchEngine)}"
        ) from error
    if engine in _MASTERS and by_host is not engine:
        raise SettingsError(
            f"connection {connection.conn_id}: host {host!r} is no master of engine {engine}; "
            f"it has to begin with {_MASTERS[engine]}"
        )
    return engine


def build_conf(connection: ConnectionFacts, environment: Mapping[str, str]) -> dict[str, str]:
    """Spark's settings for a job: the project's defaults, the profile of a named engine, variables, the connection.

    Each goes before those named earlier.

    Raises:
        SettingsError: a profile or the connection sets what is the project's own, or what makes no sense.
    """
    engine = connection.extra_dejson.get("engine")
    profile = load_profile(PROFILES / f"{engine}.yaml") if engine else {}
    variables = {name: environment[variable] for name, variable in _BY_VARIABLE.items() if environment.get(variable)}
    where = f"connection {connection.conn_id}: conf"
    conf = {**_DEFAULTS, **profile, **variables, **_checked(connection.extra_dejson.get("conf", {}), where)}
    if UTC not in conf["spark.driver.extraJavaOptions"]:
        conf["spark.driver.extraJavaOptions"] += f" {UTC}"
    return conf


def load_profile(path: Path) -> dict[str, str]:
    """The settings of one profile; SettingsError when it cannot be used."""
    return _checked(read_document(path, what="engine profile", then="put it back or correct it"), f"profile {path}")


def _checked(settings: Any, where: str) -> dict[str, str]:
    """Names and values as spark-submit takes them."""
    try:
        conf = {str(name): _text(value, f"{where}: {name}") for name, value in mapping(settings, where).items()}
    except ContractError as error:
        raise SettingsError(f"{error}; write names of Spark settings with their values") from error
    if own := own_settings(conf):
        raise SettingsError(
            f"{where} sets {', '.join(own)}: the project sets it itself, because tables depend on it; take it out"
        )
    if strange := sorted(name for name in conf if not name.startswith("spark.")):
        raise SettingsError(f"{where}: {', '.join(strange)} is no setting of Spark; their names begin with spark.")
    return conf


def _text(value: Any, what: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise ContractError(f"{what} is {value!r}, which is no text, number or truth value")
