"""Every Hudi option the project sets, spelt once, with the reason and what was measured (docs/adr/0002)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from spark_jobs.contracts.instants import Instant
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.timeline import TABLE_VERSION

METADATA_PREFIX = "lakehouse."
"""Write options with this prefix are kept in the commit's extra metadata."""


class Hudi(StrEnum):
    """Option keys."""

    TABLE_NAME = "hoodie.table.name"
    TABLE_TYPE = "hoodie.datasource.write.table.type"
    TABLE_VERSION = "hoodie.write.table.version"
    AUTO_UPGRADE = "hoodie.write.auto.upgrade"
    TIMEZONE = "hoodie.table.timeline.timezone"
    OPERATION = "hoodie.datasource.write.operation"
    RECORD_KEY = "hoodie.datasource.write.recordkey.field"
    PARTITION_PATH = "hoodie.datasource.write.partitionpath.field"
    HIVE_STYLE = "hoodie.datasource.write.hive_style_partitioning"
    KEY_GENERATOR = "hoodie.datasource.write.keygenerator.class"
    PAYLOAD = "hoodie.datasource.write.payload.class"
    MERGE_MODE = "hoodie.write.record.merge.mode"
    COMBINE_BEFORE_UPSERT = "hoodie.combine.before.upsert"
    INDEX_TYPE = "hoodie.index.type"
    BUCKET_ENGINE = "hoodie.index.bucket.engine"
    BUCKETS = "hoodie.bucket.index.num.buckets"
    BUCKET_FIELD = "hoodie.bucket.index.hash.field"
    BLOOM_FILTER = "hoodie.parquet.bloom.filter.enabled"
    BLOOM_TYPE = "hoodie.bloom.index.filter.type"
    BLOOM_KEYS = "hoodie.index.bloom.num_entries"
    BLOOM_ERRORS = "hoodie.index.bloom.fpp"
    COMPRESSION = "hoodie.parquet.compression.codec"
    PAGE_BYTES = "hoodie.parquet.page.size"
    METADATA_TABLE = "hoodie.metadata.enable"
    MARKERS = "hoodie.write.markers.type"
    TIMELINE_SERVER = "hoodie.embed.timeline.server"
    VIEW_TIMEOUT = "hoodie.filesystem.view.remote.timeout.secs"
    TABLE_SERVICES = "hoodie.table.services.enabled"
    INLINE_COMPACTION = "hoodie.compact.inline"
    ROW_WRITER = "hoodie.datasource.write.row.writer.enable"
    COLUMN_DROP = "hoodie.datasource.write.schema.allow.auto.evolution.column.drop"
    OVERWRITE_AS = "hoodie.bulkinsert.overwrite.operation.type"
    PARTITIONS_TO_DELETE = "hoodie.datasource.write.partitions.to.delete"
    BULK_INSERT_SORT = "hoodie.bulkinsert.sort.mode"
    UPSERT_PARALLELISM = "hoodie.upsert.shuffle.parallelism"
    BULK_INSERT_PARALLELISM = "hoodie.bulkinsert.shuffle.parallelism"
    CONCURRENCY_MODE = "hoodie.write.concurrency.mode"
    LOCK_PROVIDER = "hoodie.write.lock.provider"
    FAILED_WRITES = "hoodie.clean.failed.writes.policy"
    ROLLBACK_BY_MARKERS = "hoodie.rollback.using.markers"
    HEARTBEAT_INTERVAL = "hoodie.client.heartbeat.interval_in_ms"
    HEARTBEAT_MISSES = "hoodie.client.heartbeat.tolerable.misses"
    METADATA_PREFIX = "hoodie.datasource.write.commitmeta.key.prefix"
    COMPACT_AFTER = "hoodie.compact.inline.max.delta.commits"
    COMPACTION_STRATEGY = "hoodie.compaction.strategy"
    COMPACTION_LOG_BYTES = "hoodie.compaction.logfile.size.threshold"
    COMPACTION_LOG_FILES = "hoodie.compaction.logfile.num.threshold"
    COMPACTION_PARTITIONS = "hoodie.compaction.partition.path.regex"
    COMPACTION_MOST_MB = "hoodie.compaction.target.io"
    INCREMENTAL_SERVICES = "hoodie.table.services.incremental.enabled"
    SMALL_FILE = "hoodie.clustering.plan.strategy.small.file.limit"
    TARGET_FILE = "hoodie.clustering.plan.strategy.target.file.max.bytes"
    MOST_GROUPS = "hoodie.clustering.plan.strategy.max.num.groups"
    QUERY_TYPE = "hoodie.datasource.query.type"
    BEGIN_INSTANT = "hoodie.datasource.read.begin.instanttime"
    END_INSTANT = "hoodie.datasource.read.end.instanttime"
    AS_OF_INSTANT = "as.of.instant"


_SAFETY: Mapping[str, str] = {
    # Athena and Trino read version 6 alone; one writer that forgets it would upgrade the table for good.
    Hudi.TABLE_VERSION: str(TABLE_VERSION),
    Hudi.AUTO_UPGRADE: "false",
    # The default writes instants in the machine's local time.
    Hudi.TIMEZONE: "UTC",
    # A paused writer that comes back must not overwrite its successor: conflicts are checked under a lock, and what
    # a dead writer left is rolled back only when its heartbeat has ended. Leases keep other processes out, so the
    # lock itself can be the in-process one, which no kill can leave behind.
    Hudi.CONCURRENCY_MODE: "optimistic_concurrency_control",
    Hudi.LOCK_PROVIDER: "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
    Hudi.FAILED_WRITES: "LAZY",
    Hudi.HEARTBEAT_INTERVAL: "5000",
    Hudi.HEARTBEAT_MISSES: "4",
}

_LEAN: Mapping[str, str] = {
    # Listing a few hundred files is cheaper than a second table committed with every write.
    Hudi.METADATA_TABLE: "false",
    # Markers through the timeline server can hang a writer for minutes; direct ones do not.
    Hudi.MARKERS: "DIRECT",
    # Starting it costs more than it saves where a table has few buckets.
    Hudi.TIMELINE_SERVER: "false",
    # A failed clean must not fail a write that is durable: services are tasks of their own.
    Hudi.TABLE_SERVICES: "false",
    Hudi.INLINE_COMPACTION: "false",
    # The bloom footer is sized for 60,000 keys: 435 KB for a file of three rows. Nothing here looks keys up in it.
    Hudi.BLOOM_FILTER: "false",
    # The row writer of bulk inserts makes one whatever that says: of this type, for one key, it has a byte. By default
    # each key is hashed 30 times for it; with this share of errors twice.
    Hudi.BLOOM_TYPE: "SIMPLE",
    Hudi.BLOOM_KEYS: "1",
    Hudi.BLOOM_ERRORS: "0.5",
    Hudi.ROW_WRITER: "true",
    # Files of the default, gzip, are about as large and take several times as long to write.
    Hudi.COMPRESSION: "zstd",
}


def heartbeat_seconds() -> float:
    """The age at which a writer's heartbeat counts as ended."""
    return int(_SAFETY[Hudi.HEARTBEAT_INTERVAL]) * int(_SAFETY[Hudi.HEARTBEAT_MISSES]) / 1000


class Operation(StrEnum):
    """Operations that a commit may use in place of that of the table's form."""

    UPSERT = "upsert"
    DELETE = "delete"
    INSERT_OVERWRITE = "insert_overwrite"
    """The rows are all that their partitions are to have; of a keyed table."""
    INSERT_OVERWRITE_TABLE = "insert_overwrite_table"
    """The rows are all that the table is to have, the partitions that they do not name among it."""
    DELETE_PARTITIONS = "delete_partition"


OPERATIONS: Mapping[StorageForm, str] = {
    StorageForm.APPENDED: "bulk_insert",
    StorageForm.KEYED: "upsert",
    StorageForm.REPLACED: "insert_overwrite_table",
}


_APPENDED_PAGE_BYTES = str(256 * 1024)
"""Also of a column's dictionary, with which each file begins: ids and orders of events, all different, go through a
quarter of the default before it is given up. Files are smaller by 4 %, and what is skipped is skipped more finely."""
_SHARED_LISTING: Mapping[str, str] = {
    # Without it the task of each bucket lists the table's folder (docs/adr/0056). Markers stay direct, so it has no
    # request that writes, and a task that does not reach it lists the folder itself.
    Hudi.TIMELINE_SERVER: "true",
    Hudi.VIEW_TIMEOUT: "10",
}


def build_write_options(
    layout: TableLayout,
    *,
    parallelism: int,
    is_first: bool = False,
    operation: Operation | None = None,
    server_buckets: int = 0,
) -> dict[str, str]:
    """Options of every write to a table.

    Args:
        layout: the table's form on storage.
        parallelism: tasks of a shuffle.
        is_first: it has no commit yet, and rows come one per key.
        operation: when it is not that of its form.
        server_buckets: tables of at least so many buckets are upserted with the timeline server; 0 for none.
    """
    options = {
        **_SAFETY,
        **_LEAN,
        Hudi.TABLE_NAME: layout.name,
        Hudi.OPERATION: operation or OPERATIONS[layout.form],
        Hudi.RECORD_KEY: layout.record_key,
        Hudi.PARTITION_PATH: layout.partition,
        Hudi.HIVE_STYLE: "true",
        Hudi.KEY_GENERATOR: f"org.apache.hudi.keygen.{'Simple' if layout.partition else 'Nonpartitioned'}KeyGenerator",
        # Rows arrive merged by our own per-column rule; Hudi just keeps the last one committed.
        Hudi.PAYLOAD: "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
        Hudi.MERGE_MODE: "COMMIT_TIME_ORDERING",
        Hudi.COMBINE_BEFORE_UPSERT: "false",
        Hudi.UPSERT_PARALLELISM: str(parallelism),
        Hudi.BULK_INSERT_PARALLELISM: str(parallelism),
        Hudi.METADATA_PREFIX: METADATA_PREFIX,
        Hudi.TABLE_TYPE: layout.type.value.upper(),
    }
    if layout.form is StorageForm.APPENDED:
        options[Hudi.PAGE_BYTES] = _APPENDED_PAGE_BYTES
    if layout.form is not StorageForm.KEYED:
        return {**options, Hudi.BULK_INSERT_SORT: "NONE", Hudi.INDEX_TYPE: "SIMPLE"}
    is_rewrite = operation is Operation.INSERT_OVERWRITE
    if is_first or is_rewrite:
        # Nothing to look up or merge: the same buckets, a third of an upsert's time.
        options |= {Hudi.OPERATION: "bulk_insert", Hudi.BULK_INSERT_PARALLELISM: str(layout.buckets)}
    if is_rewrite:
        # Of every partition that has rows. The operation for whole tables would want a mode that removes folders here,
        # and is slower without. All rows are written again, so a column may have another name.
        options |= {Hudi.OVERWRITE_AS: Operation.INSERT_OVERWRITE, Hudi.COLUMN_DROP: "true"}
    if not (is_first or is_rewrite) and 0 < server_buckets <= layout.buckets:
        options |= _SHARED_LISTING
    return {
        **options,
        Hudi.INDEX_TYPE: "BUCKET",
        Hudi.BUCKET_ENGINE: "SIMPLE",
        Hudi.BUCKETS: str(layout.buckets),
        Hudi.BUCKET_FIELD: layout.record_key,
    }


def build_incremental_options(*, after: Instant, up_to: Instant) -> dict[str, str]:
    """Options of a pull of the instants ``(after, up_to]``."""
    return {Hudi.QUERY_TYPE: "incremental", Hudi.BEGIN_INSTANT: after, Hudi.END_INSTANT: up_to}


def build_service_options(extra: Mapping[Hudi, str] | None = None) -> dict[str, str]:
    """Options of a procedure that is a table service itself, or just rolls back what dead writers left."""
    lean = {key: value for key, value in _LEAN.items() if key != Hudi.TABLE_SERVICES}
    return {**_SAFETY, **lean, **{str(key): value for key, value in (extra or {}).items()}}


def build_procedure_options() -> dict[str, str]:
    """Settings of a session in which a procedure leaves the table's version and metadata as they are.

    And needs no timeline server: a restore whose markers it cannot write hangs for five minutes.
    """
    keys = (
        *(Hudi.TABLE_VERSION, Hudi.AUTO_UPGRADE, Hudi.TIMEZONE, Hudi.METADATA_TABLE),
        *(Hudi.MARKERS, Hudi.TIMELINE_SERVER),
    )
    return {key: {**_SAFETY, **_LEAN}[key] for key in keys}
