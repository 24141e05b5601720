"""Which Spark settings are the project's own: whoever starts a session may tune the others, and these not at all."""

from __future__ import annotations

from collections.abc import Iterable

TUNABLE = frozenset(
    {
        "spark.driver.memory",
        "spark.driver.extraJavaOptions",
        "spark.sql.adaptive.enabled",
        "spark.sql.autoBroadcastJoinThreshold",
        "spark.sql.inMemoryColumnarStorage.compressed",
        "spark.sql.shuffle.partitions",
        "spark.sql.sources.parallelPartitionDiscovery.threshold",
        "spark.ui.enabled",
        "spark.ui.showConsoleProgress",
    }
)
"""Names that ``session.build_session_options`` gives a value, and a cluster's own value goes first."""
FIXED = frozenset(
    {
        "spark.executorEnv.PYTHONPATH",
        "spark.executorEnv.TZ",
        "spark.hadoop.fs.s3a.aws.credentials.provider",
        "spark.hadoop.fs.s3a.connection.ssl.enabled",
        "spark.hadoop.fs.s3a.directory.marker.retention",
        "spark.hadoop.fs.s3a.encryption.algorithm",
        "spark.hadoop.fs.s3a.encryption.key",
        "spark.hadoop.fs.s3a.endpoint",
        "spark.hadoop.fs.s3a.endpoint.region",
        "spark.hadoop.fs.s3a.path.style.access",
        "spark.hadoop.parquet.avro.write-old-list-structure",
        "spark.kryo.registrator",
        "spark.scheduler.mode",
        "spark.serializer",
        "spark.sql.avro.datetimeRebaseModeInRead",
        "spark.sql.avro.datetimeRebaseModeInWrite",
        "spark.sql.catalog.spark_catalog",
        "spark.sql.codegen.cache.maxEntries",
        "spark.sql.extensions",
        "spark.sql.parquet.datetimeRebaseModeInRead",
        "spark.sql.parquet.datetimeRebaseModeInWrite",
        "spark.sql.parquet.enableNestedColumnVectorizedReader",
        "spark.sql.session.timeZone",
        "spark.sql.warehouse.dir",
    }
)
"""Names whose values are right or wrong for the tables; the same function sets them in every session."""
_TABLES_OWN = ("hoodie.", "spark.hoodie.", "spark.hadoop.hoodie.")


def own_settings(names: Iterable[str]) -> list[str]:
    """Those among ``names`` that only the project sets, Hudi's included; in order."""
    return sorted(name for name in names if name in FIXED or name.startswith(_TABLES_OWN))
