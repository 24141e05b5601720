"""The ways from a topic of Kafka to files: our job, and Spark's own source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.kafka_topic import END, SalesTopic
from bench.lake import run_job
from bench.spark_json import parsed_by_spark
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.sources.discovery import find_delivery
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.timeline import Timeline

Count = Callable[[], int]


@dataclass(frozen=True, kw_only=True)
class Ways:
    """The ways from ``topic`` to files below ``folder``.

    Each gives a function that counts the messages read, to be called when the clock has stopped.
    """

    spark: SparkSession
    settings: Settings
    topic: SalesTopic
    folder: Path

    @cached_property
    def spec(self) -> LakeSpec:
        """The lake."""
        return load_lake_spec(self.settings.lake_spec)

    def ingest(self, lake: str, start: str = "earliest") -> Count:
        """Take in what is new, into the lake of that name."""
        settings, read = replace(self.settings, base_path=str(self.folder / lake), kafka_start=start), 0
        while True:
            counters = run_job(self.spark, settings, "ingest", END).counters
            read += counters["records_read"]
            if not counters["has_more"]:
                return lambda: read

    def write_text(self) -> Count:
        """Write the messages as they are."""
        return self._write(self._messages().select(F.col("value").cast("string").alias("value")), "text")

    def write_columns(self) -> Count:
        """Write the messages parsed by Spark."""
        return self._write(parsed_by_spark(self._messages(), self.spec), "columns")

    def decode(self) -> Count:
        """Decode the messages as ingest does, and keep nothing."""
        timeline = Timeline(table=self.spec.log, path=str(self.folder / "none"))
        delivery = find_delivery(self.spec, timeline, self.settings, clock=END, max_records=self.topic.messages)
        delivery.decode(self.spark, self.spec).write.format("noop").mode("overwrite").save()
        return lambda: delivery.counters["offsets_read"]

    def _messages(self) -> DataFrame:
        options = {"kafka.bootstrap.servers": self.settings.kafka_servers, "subscribe": self.topic.name}
        return self.spark.read.format("kafka").options(**options).load()

    def _write(self, rows_df: DataFrame, name: str) -> Count:
        path = str(self.folder / name)
        rows_df.write.mode("overwrite").parquet(path)
        return self.spark.read.parquet(path).count
