"""Settings of the platform, read once from ``LAKEHOUSE_*`` environment variables."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from spark_jobs.contracts.catalogs import GLUE, METASTORE, form_of
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.identifiers import check_identifier
from spark_jobs.contracts.lakes import BASE_PATH, LANDING_PATH, PLACES, default_place, lake_environment, place_of
from spark_jobs.contracts.names import show
from spark_jobs.contracts.secrets import without_secrets
from spark_jobs.contracts.shipped import CHECKOUT, SHIPPED, unpack_shipped

PROJECT_ROOT = Path(__file__).resolve().parents[2]
"""The folder that has the library: a checkout's or the environment's for packages; or the zip that it runs from."""
PREFIX = "LAKEHOUSE_"
_MEMORY = re.compile(r"[0-9]{1,6}[mg]")
_NUMBER = re.compile(r"[0-9]{1,12}")
_HOST = r"[A-Za-z0-9._-]{1,253}:[0-9]{1,5}"
_SERVERS = re.compile(rf"{_HOST}(?:,{_HOST})*")
_WORKGROUP = re.compile(r"[A-Za-z0-9._-]{1,128}")
_WITH_LEASES = ("file", "s3", "s3a")
"""Storage where leases are kept beside the tables (ADR 4)."""
_UNFIT = " %#*?[]{}'\"`\\"
"""Of a lake's path: Hudi's procedures find no tables behind some of these, Spark takes others for a pattern."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where things are and how the engine is started; every field is the variable ``LAKEHOUSE_<FIELD>``.

    Paths may be local or URIs that Spark and pyarrow both know (``s3a://`` is read by pyarrow as ``s3://``).
    """

    base_path: str = default_place(BASE_PATH)
    """Where the tables are, each at ``<base>/<table>``."""
    landing_path: str = default_place(LANDING_PATH)
    """Where files of events arrive, at ``<landing>/<topic>/`` (docs/tables.md)."""
    kafka_servers: str = ""
    """Kafka's brokers as ``host:port,host:port``: `ingest` reads their topics beside the landing path
    (docs/kafka.md)."""
    kafka_properties: str = field(default="", repr=False)
    """How to log in to Kafka: librdkafka's properties as a JSON object; may hold a password, so it is never shown."""
    kafka_start: str = "earliest"
    """Where a topic begins that was never read: ``earliest``, a time, or offsets as a JSON object; ``latest`` is for
    the topics of the first run alone."""
    jdbc_url: str = field(default="", repr=False)
    """The database whose tables `snapshot` reads, such as ``jdbc:postgresql://host/database``; without a login
    (docs/snapshot.md)."""
    jdbc_user: str = ""
    """The user that reads there."""
    jdbc_password: str = field(default="", repr=False)
    """The user's password; never shown."""
    jdbc_timeout_seconds: int = 600
    """How long `snapshot` waits for a database that is silent, and for the answer to a question about a table."""
    lake_spec: str = str(SHIPPED / "lakes" / "sales.yaml")
    """The file that declares the lake (docs/tables.md)."""
    views_path: str = str(SHIPPED / "sql" / "views")
    """The folder of the views that `query` and `views` know (docs/catalogs.md)."""
    checks_path: str = str(SHIPPED / "sql" / "checks")
    """The folder of the checks that `checks run` runs (docs/checks.md)."""
    reports_path: str = str(SHIPPED / "reports")
    """The folder that says what `report` shows of each lake: ``<lake>.yaml`` (docs/report.md)."""
    rules_path: str = str(SHIPPED / "rules")
    """The folder of the versions of business rules (docs/rules.md)."""
    spark_remote: str = field(default="", repr=False)
    """A Spark Connect server as ``sc://host:port``; it may hold a token, so it is never shown. Empty: Spark runs in the
    job's own process."""
    spark_master: str = "local[*]"
    """The master of a session in the job's own process."""
    jars_path: str = str(CHECKOUT / ".jars") if CHECKOUT else ""
    """The folder of the jars that Spark is started with: Hudi, Spark Connect, S3, drivers of databases
    (docs/existing-airflow.md)."""
    driver_memory: str = "4g"
    """The memory of the driver of a session that a job starts."""
    shuffle_partitions: int = 2
    """Tasks of a shuffle; a large split and a full refresh of a mart have more."""
    max_events: int = 200_000
    """Most events that one `ingest` reads, of landing files also at most 8 KB for each; the rest waits for the next
    run."""
    local_query_mb: int = 64
    """How large on disk a table may be that a query reads without Spark, in MB, old versions of its files included
    (docs/command.md)."""
    max_pull_mb: int = 1024
    """Most of the log that `split` merges at a time, in MB; a larger commit is read in parts, in the same run."""
    write_threads: int = 7
    """Tables that one job writes side by side, and marts that it refreshes side by side."""
    timeline_server_buckets: int = 32
    """Tables of at least so many buckets are written with Hudi's timeline server: a commit lists the table's files
    once, not once for each bucket. While it lasts the driver has one more open port, without a login, that gives names
    of files and commits (docs/sizing.md). 0: never."""
    lease_wait_seconds: int = 300
    """How long a job waits for another writer of the same table before it fails and may be retried
    (docs/concurrency.md)."""
    lock_servers: str = ""
    """ZooKeeper as ``host:port,host:port``, for writers on several machines (docs/concurrency.md). Empty: leases of
    this machine, or objects beside a lake on S3."""
    truncated_after_seconds: int = 600
    """How long after a file's last change an unfinished last line counts as broken and is quarantined."""
    source_skew_seconds: int = 10
    """By how much times of a source may disagree with its positions before an event counts as fallen
    (docs/sources.md)."""
    s3_encryption: str = ""
    """How Spark encrypts what it writes to ``s3a://``: ``AES256`` or ``SSE-KMS``. Empty: as the bucket says."""
    s3_kms_key: str = ""
    """The key for ``SSE-KMS``, as its ARN. Empty: the account's own key for S3."""
    catalog: str = ""
    """Where `sync` keeps the tables for Athena, Trino and Hive: ``glue``, or a Hive metastore as
    ``thrift://host:port`` (docs/catalogs.md). Empty: nowhere."""
    catalog_database: str = ""
    """The database of that catalog. Empty: the lake's name."""
    athena_workgroup: str = ""
    """The workgroup in which Athena makes the views; with one set, the DAG `catalog_sync` makes them too. Empty:
    ``primary``, for `views apply` alone."""
    athena_results: str = ""
    """Where Athena puts results, as ``s3://bucket/folder/``. Empty: where the workgroup says."""
    serving_url: str = field(default="", repr=False)
    """SQLAlchemy URL of the serving store, the database of the dashboards (docs/serving.md); it may hold a password, so
    it is never shown. Empty: a SQLite file of the lake."""

    def __post_init__(self) -> None:
        if not _MEMORY.fullmatch(self.driver_memory):
            raise SettingsError(f"{PREFIX}DRIVER_MEMORY={show(self.driver_memory)} is not a size; give for example 4g")
        at_least_one = ("shuffle_partitions", "max_events", "max_pull_mb", "local_query_mb", "write_threads")
        for name in (*at_least_one, "jdbc_timeout_seconds"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{PREFIX}{name.upper()}={getattr(self, name)} must be at least 1")
        for setting in fields(self):
            if isinstance(text := getattr(self, setting.name), str) and not text.isprintable():
                raise SettingsError(f"{PREFIX}{setting.name.upper()} has characters that cannot be printed; correct it")
        if unfit := set(_UNFIT) & set(self.base_path):
            raise SettingsError(
                f"{PREFIX}BASE_PATH={show(self.base_path)} has {sorted(unfit)} in it, and not every engine finds "
                f"tables there; give the lake a folder without"
            )
        self._check_catalog()
        self._check_servers()
        if self.s3_encryption not in ("", "AES256", "SSE-KMS"):
            raise SettingsError(f"{PREFIX}S3_ENCRYPTION={show(self.s3_encryption)} must be AES256 or SSE-KMS")

    def _check_servers(self) -> None:
        if self.kafka_servers and not _SERVERS.fullmatch(self.kafka_servers):
            raise SettingsError(
                f"{PREFIX}KAFKA_SERVERS={show(self.kafka_servers)} must look like host:9092, several with commas"
            )
        if self.lock_servers and not _SERVERS.fullmatch(self.lock_servers):
            raise SettingsError(
                f"{PREFIX}LOCK_SERVERS={show(self.lock_servers)} must look like host:2181, several with commas"
            )
        scheme, separator, _ = self.base_path.partition("://")
        if separator and scheme not in _WITH_LEASES and not self.lock_servers:
            raise SettingsError(
                f"a lake on {scheme}:// needs leases that all machines see; set {PREFIX}LOCK_SERVERS to its ZooKeeper"
            )
        if self.spark_remote and not self.spark_remote.startswith("sc://"):
            raise SettingsError(
                f"{PREFIX}SPARK_REMOTE={show(without_secrets(self.spark_remote))} must look like sc://host:port"
            )

    def _check_catalog(self) -> None:
        if self.catalog and not form_of(self.catalog):
            raise SettingsError(
                f"{PREFIX}CATALOG={show(without_secrets(self.catalog))} must be {GLUE} or look like {METASTORE}"
            )
        if self.catalog_database:
            check_identifier(self.catalog_database, f"{PREFIX}CATALOG_DATABASE")
        if self.athena_workgroup and not _WORKGROUP.fullmatch(self.athena_workgroup):
            raise SettingsError(
                f"{PREFIX}ATHENA_WORKGROUP={show(self.athena_workgroup)} is no workgroup's name; use letters, digits, "
                f"'.', '_' and '-', at most 128"
            )
        if self.athena_results and not self.athena_results.startswith("s3://"):
            raise SettingsError(
                f"{PREFIX}ATHENA_RESULTS={show(self.athena_results)} must look like s3://bucket/folder/"
            )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Read every ``LAKEHOUSE_*`` variable this class knows; SettingsError when a value does not fit.

        Of several lakes (``LAKEHOUSE_LAKES``) those of the one that ``LAKEHOUSE_LAKE`` names.
        """
        environment = lake_environment(os.environ if environment is None else environment)
        values: dict[str, Any] = {}
        for setting in fields(cls):
            text = environment.get(PREFIX + setting.name.upper(), "")
            if not text:
                continue
            if isinstance(setting.default, int):
                if not _NUMBER.fullmatch(text):
                    raise SettingsError(
                        f"{PREFIX}{setting.name.upper()}={show(text)} is not a whole number; correct it"
                    )
                values[setting.name] = int(text)
            else:
                values[setting.name] = _absolute(text) if setting.name.endswith(("_path", "lake_spec")) else text
        for variable in PLACES:
            place_of(environment, variable)
        if PROJECT_ROOT.is_file():
            values = {**_unpacked_defaults(), **values}
        return cls(**values)

    def table_path(self, table: str) -> str:
        """The folder of a table: ``<base>/<table>``."""
        return f"{self.base_path.rstrip('/')}/{table}"


def shipped_defaults() -> dict[str, Path]:
    """The settings whose defaults are the lake's files, each with its default's place, from ``include/`` on."""
    defaults = {setting.name: Path(setting.default) for setting in fields(Settings) if isinstance(setting.default, str)}
    return {name: path.relative_to(SHIPPED.parent) for name, path in defaults.items() if path.is_relative_to(SHIPPED)}


def _unpacked_defaults() -> dict[str, Any]:
    folder = unpack_shipped(PROJECT_ROOT)
    return {name: str(folder / place) for name, place in shipped_defaults().items()}


def _absolute(path: str) -> str:
    return path if "://" in path else os.path.abspath(path)
