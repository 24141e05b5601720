"""The jars that Spark is started with: fetched once by Spark's own resolver, checked against ``jars.lock``."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from local_stack.errors import DownloadError, SetupError
from local_stack.layout import PROJECT_ROOT

LOCK = Path(__file__).with_name("jars.lock")


@dataclass(frozen=True, slots=True, kw_only=True)
class JarSet:
    """Jars of one purpose: Maven coordinates, what Spark brings itself, and the folder they are copied flat to."""

    folder: Path
    coordinates: tuple[str, ...]
    excludes: tuple[str, ...]
    apart: tuple[str, ...] = ()
    """Coordinates that Spark's resolver always leaves out, and that are fetched one by one."""

    @property
    def file_names(self) -> tuple[str, ...]:
        """File names as the resolver writes them: ``group_artifact-version.jar``."""
        return tuple(map(jar_name, (*self.coordinates, *self.apart)))


RUN_JARS = JarSet(
    folder=PROJECT_ROOT / ".jars",
    coordinates=(
        "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0",
        "org.apache.spark:spark-connect_2.12:3.5.7",
        # Storage s3a://, with the parts of the SDK that it uses in place of its bundle of 280 MB.
        "org.apache.hadoop:hadoop-aws:3.3.4",
        "com.amazonaws:aws-java-sdk-core:1.12.262",
        "com.amazonaws:aws-java-sdk-s3:1.12.262",
        "com.amazonaws:aws-java-sdk-sts:1.12.262",
        "com.amazonaws:aws-java-sdk-kms:1.12.262",
        "com.amazonaws:aws-java-sdk-dynamodb:1.12.262",  # the connector translates its errors as well
        "com.amazonaws:jmespath-java:1.12.262",
        # Databases that `snapshot` reads; MariaDB's driver serves MySQL too.
        "org.postgresql:postgresql:42.7.7",
        "org.mariadb.jdbc:mariadb-java-client:3.5.3",
        "com.microsoft.sqlserver:mssql-jdbc:12.10.2.jre11",
    ),
    excludes=(
        *("org.apache.hive:hive-storage-api", "org.slf4j:slf4j-api", "org.spark-project.spark:unused"),
        *("com.amazonaws:aws-java-sdk-bundle", "org.wildfly.openssl:wildfly-openssl", "joda-time:joda-time"),
        *("commons-logging:commons-logging", "commons-codec:commons-codec", "software.amazon.ion:ion-java"),
        *("org.apache.httpcomponents:httpclient", "com.fasterxml.jackson.core:jackson-databind"),
        *("com.fasterxml.jackson.dataformat:jackson-dataformat-cbor", "org.checkerframework:checker-qual"),
    ),
)
BENCH_JARS = JarSet(
    folder=PROJECT_ROOT / ".jars-bench",
    coordinates=(
        "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.0",
        "io.delta:delta-spark_2.12:3.3.2",
        "io.delta:delta-storage:3.3.2",
        "org.apache.spark:spark-sql-kafka-0-10_2.12:3.5.7",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.12:3.5.7",
        *("org.apache.kafka:kafka-clients:3.4.1", "org.apache.commons:commons-pool2:2.11.1"),
    ),
    excludes=(
        *("org.antlr:antlr4-runtime", "com.google.code.findbugs:jsr305", "commons-logging:commons-logging"),
        *("org.apache.hadoop:hadoop-client-api", "org.apache.hadoop:hadoop-client-runtime"),
        *("org.lz4:lz4-java", "org.slf4j:slf4j-api", "org.xerial.snappy:snappy-java", "com.github.luben:zstd-jni"),
    ),
)
"""What the benchmark compares with; nothing else needs them."""
YARN_JARS = JarSet(
    folder=PROJECT_ROOT / ".jars-yarn",
    coordinates=(
        "org.apache.hadoop:hadoop-client-minicluster:3.3.4",
        "org.bouncycastle:bcprov-jdk15on:1.60",
        "org.bouncycastle:bcpkix-jdk15on:1.60",
    ),
    excludes=(
        *("org.apache.hadoop:hadoop-client-api", "org.apache.hadoop:hadoop-client-runtime", "junit:junit"),
        *("org.slf4j:slf4j-api", "log4j:log4j", "ch.qos.reload4j:reload4j", "commons-logging:commons-logging"),
        *("com.google.code.findbugs:jsr305", "org.apache.htrace:htrace-core4"),
    ),
)
"""YARN's own servers, as far as PySpark's jars lack them; tests alone need them, and fetch them."""


def jar_name(coordinate: str) -> str:
    """``group_artifact-version.jar`` of ``group:artifact:version``."""
    return "{}_{}-{}.jar".format(*coordinate.split(":"))


def read_lock(path: Path = LOCK) -> dict[str, str]:
    """Return sha256 by ``folder/file``; the file has the form that ``sha256sum -c`` reads."""
    lines = [line.split() for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {name: digest for digest, name in lines}


def write_lock(jar_sets: Iterable[JarSet], path: Path = LOCK) -> None:
    """Record what is in the folders now."""
    lines = [
        f"{file_digest(jar_set.folder / name)}  {_lock_name(jar_set, name)}"
        for jar_set in jar_sets
        for name in jar_set.file_names
    ]
    path.write_text("# Made by `make lock`; `sha256sum -c` reads it too.\n" + "\n".join(lines) + "\n")


def file_digest(path: Path) -> str:
    """The file's sha256 in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def wrong_jars(jar_set: JarSet, *, folder: Path | None = None, lock: Path = LOCK) -> dict[str, str]:
    """Return what is wrong by file name, ``missing`` or ``has another sha256``; empty when all are there and right."""
    wanted, place = read_lock(lock), folder or jar_set.folder
    wrong = {}
    for name in jar_set.file_names:
        if not (place / name).is_file():
            wrong[name] = "is missing"
        elif file_digest(place / name) != wanted.get(_lock_name(jar_set, name)):
            wrong[name] = f"has another sha256 than {lock.name} names"
    return wrong


def check_jars(jar_set: JarSet, *, folder: Path, lock: Path = LOCK) -> None:
    """Raise DownloadError when a freshly resolved jar is not the locked one."""
    if wrong := wrong_jars(jar_set, folder=folder, lock=lock):
        facts = "; ".join(f"{name} {reason}" for name, reason in wrong.items())
        raise DownloadError(f"the resolver brought other jars than the locked ones: {facts}; run 'make setup' again")


def move_jars(resolved: Path, jar_set: JarSet) -> None:
    """Move resolved jars to their folder, each whole or not at all. SetupError when it cannot be written."""
    try:
        jar_set.folder.mkdir(exist_ok=True)
        for name in jar_set.file_names:
            os.replace(resolved / name, jar_set.folder / name)
    except OSError as error:
        raise SetupError(f"{jar_set.folder} cannot be filled ({error}); make it writable and try again") from error


def _lock_name(jar_set: JarSet, name: str) -> str:
    return f"{jar_set.folder.name}/{name}"
