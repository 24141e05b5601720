"""Settings of the platform, read once from ``LAKEHOUSE_*`` environment variables."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from spark_jobs.contracts.errors import SettingsError

PROJECT_ROOT = Path(__file__).resolve().parents[2]
PREFIX = "LAKEHOUSE_"
GLUE = "glue"
"""``catalog`` for the AWS Glue data catalog of the account that the job runs in."""
_MEMORY = re.compile(r"^\d+[mg]$")
_METASTORE = re.compile(r"^thrift://[^\s/@:]+:\d+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where things are and how the engine is started; every field is the variable ``LAKEHOUSE_<FIELD>``.

    Paths may be local or URIs that Spark and pyarrow both know (``s3a://`` is read by pyarrow as ``s3://``).
    """

    base_path: str = str(PROJECT_ROOT / "data" / "lake")
    landing_path: str = str(PROJECT_ROOT / "data" / "landing")
    lake_spec: str = str(PROJECT_ROOT / "include" / "lakes" / "sales.yaml")
    views_path: str = str(PROJECT_ROOT / "include" / "sql" / "views")
    rules_path: str = str(PROJECT_ROOT / "include" / "rules")
    spark_remote: str = ""
    spark_master: str = "local[*]"
    jars_path: str = str(PROJECT_ROOT / ".jars")
    driver_memory: str = "4g"
    shuffle_partitions: int = 2
    max_events: int = 200_000
    """Most events one ingest run takes; the rest waits for the next run."""
    max_pull_mb: int = 1024
    """Most of the log that split folds at a time; what is beyond is folded next, in the same run."""
    write_threads: int = 7
    """Tables written side by side by one job."""
    lease_wait_seconds: int = 300
    """How long a job waits for another writer of the same table before it gives up (and may be retried)."""
    lock_servers: str = ""
    """ZooKeeper, as ``host:port,host:port``, for writers on several machines; empty: locks of this machine."""
    truncated_after_seconds: int = 600
    """A last line that does not parse is awaited this long after the file's last change, then quarantined."""
    s3_encryption: str = ""
    """What is written to ``s3a://`` is to be encrypted by: ``AES256`` or ``SSE-KMS``; empty: as the bucket says."""
    s3_kms_key: str = ""
    """The key for ``SSE-KMS``, as its ARN; empty: the account's own for S3."""
    catalog: str = ""
    """Where `sync` keeps the tables: ``glue``, or a Hive metastore as ``thrift://host:port``; empty: nowhere."""
    catalog_database: str = ""
    """Database of the catalog in which `sync` keeps the tables; empty: the lake's name."""
    athena_workgroup: str = "primary"
    """The workgroup in which Athena makes the views."""
    athena_results: str = ""
    """Where Athena puts results, as ``s3://bucket/folder/``; empty: where the workgroup says."""
    serving_url: str = field(default="", repr=False)
    """SQLAlchemy URL of the serving store; it may hold a password, so it is never shown. Empty: a file of the lake."""

    def __post_init__(self) -> None:
        if not _MEMORY.match(self.driver_memory):
            raise SettingsError(f"{PREFIX}DRIVER_MEMORY={self.driver_memory!r} is not a size; give for example 4g")
        for name in ("shuffle_partitions", "max_events", "max_pull_mb", "write_threads"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{PREFIX}{name.upper()}={getattr(self, name)} must be at least 1")
        if unfit := set(" %") & set(self.base_path):
            raise SettingsError(
                f"{PREFIX}BASE_PATH={self.base_path!r} has {sorted(unfit)} in it, and Hudi's procedures find no tables "
                f"there; give the lake a folder without"
            )
        if self.catalog not in ("", GLUE) and not _METASTORE.match(self.catalog):
            raise SettingsError(f"{PREFIX}CATALOG={self.catalog!r} must be {GLUE} or look like thrift://host:9083")
        if self.s3_encryption not in ("", "AES256", "SSE-KMS"):
            raise SettingsError(f"{PREFIX}S3_ENCRYPTION={self.s3_encryption!r} must be AES256 or SSE-KMS")
        if self.spark_remote and not self.spark_remote.startswith("sc://"):
            raise SettingsError(f"{PREFIX}SPARK_REMOTE={self.spark_remote!r} must look like sc://host:port")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Read every ``LAKEHOUSE_*`` variable this class knows; SettingsError when a value does not fit."""
        environment = os.environ if environment is None else environment
        values: dict[str, Any] = {}
        for setting in fields(cls):
            text = environment.get(PREFIX + setting.name.upper(), "")
            if not text:
                continue
            if isinstance(setting.default, int):
                if not text.isdigit():
                    raise SettingsError(f"{PREFIX}{setting.name.upper()}={text!r} is not a whole number; correct it")
                values[setting.name] = int(text)
            else:
                values[setting.name] = _absolute(text) if setting.name.endswith(("_path", "lake_spec")) else text
        return cls(**values)

    def table_path(self, table: str) -> str:
        """The folder of a table: ``<base>/<table>``."""
        return f"{self.base_path.rstrip('/')}/{table}"


def _absolute(path: str) -> str:
    return path if "://" in path else str(Path(path).absolute())
