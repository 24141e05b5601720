"""What every writer says to Hudi, whatever it writes: one that forgets it breaks the table for others."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from spark_jobs.contracts.instants import Instant
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.options import (
    Hudi,
    Operation,
    build_incremental_options,
    build_procedure_options,
    build_service_options,
    build_write_options,
    heartbeat_seconds,
)
from spark_jobs.storage.services import purge
from tests.support.numbered_tables import LAYOUTS

SAFE = {
    "hoodie.write.table.version": "6",
    "hoodie.write.auto.upgrade": "false",
    "hoodie.table.timeline.timezone": "UTC",
    "hoodie.metadata.enable": "false",
    "hoodie.write.markers.type": "DIRECT",
    "hoodie.embed.timeline.server": "false",
}
"""Readers know version 6 alone; no one keeps a metadata table up."""
SHARED = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.parquet.compression.codec": "zstd",
}
"""A writer that is alive is not rolled back, and its successor is not overwritten by it; files are small."""


@pytest.mark.parametrize("layout", LAYOUTS, ids=[layout.name for layout in LAYOUTS])
def test_every_write_is_safe_and_goes_by_the_form_of_its_table(layout: TableLayout) -> None:
    form = {StorageForm.APPENDED: "bulk_insert", StorageForm.KEYED: "upsert"}.get(layout.form, "insert_overwrite_table")
    for is_first, operation in product((False, True), (None, *Operation)):
        options = build_write_options(layout, parallelism=3, is_first=is_first, operation=operation)
        assert {**SAFE, **SHARED}.items() <= options.items()
        assert options["hoodie.table.services.enabled"] == "false"
        assert options["hoodie.datasource.write.table.type"] == layout.type.upper()
        assert options["hoodie.datasource.write.recordkey.field"] == layout.record_key
        assert options["hoodie.datasource.write.partitionpath.field"] == layout.partition
        if layout.form is not StorageForm.KEYED:
            assert options["hoodie.datasource.write.operation"] == (operation or form)
        elif is_first or operation is Operation.INSERT_OVERWRITE:
            assert options["hoodie.datasource.write.operation"] == "bulk_insert"
        else:
            assert options["hoodie.datasource.write.operation"] == (operation or form)
        is_rewrite = layout.form is StorageForm.KEYED and operation is Operation.INSERT_OVERWRITE
        assert ("hoodie.bulkinsert.overwrite.operation.type" in options) is is_rewrite
        assert ("hoodie.datasource.write.schema.allow.auto.evolution.column.drop" in options) is is_rewrite


@pytest.mark.parametrize(("is_first", "operation"), [(False, None), (True, None), (False, Operation.INSERT_OVERWRITE)])
@pytest.mark.parametrize("buckets", [1, 7])
def test_a_key_goes_to_the_same_bucket_however_it_is_written(
    is_first: bool, operation: Operation | None, buckets: int
) -> None:
    for type_ in TableType:
        layout = TableLayout(name="u", record_key="id", form=StorageForm.KEYED, buckets=buckets, type=type_)
        for each in (layout, replace(layout, partition="day")):
            options = build_write_options(each, parallelism=3, is_first=is_first, operation=operation)
            found = {
                key: options[key] for key in (Hudi.INDEX_TYPE, Hudi.BUCKET_ENGINE, Hudi.BUCKETS, Hudi.BUCKET_FIELD)
            }
            assert list(found.values()) == ["BUCKET", "SIMPLE", str(buckets), "id"]


@pytest.mark.parametrize(("server_buckets", "is_used"), [(0, False), (1, True), (7, True), (8, False)])
def test_an_upsert_of_many_buckets_shares_one_listing_and_no_request_to_it_can_write(
    server_buckets: int, is_used: bool
) -> None:
    layout = TableLayout(name="u", record_key="id", form=StorageForm.KEYED, buckets=7)
    options = build_write_options(layout, parallelism=3, server_buckets=server_buckets)
    assert options["hoodie.embed.timeline.server"] == str(is_used).lower()
    assert options["hoodie.write.markers.type"] == "DIRECT"
    for is_first, operation in ((True, None), (False, Operation.INSERT_OVERWRITE)):
        assert (
            SAFE.items()
            <= build_write_options(
                layout, parallelism=3, is_first=is_first, operation=operation, server_buckets=server_buckets
            ).items()
        )


def test_services_and_procedures_keep_the_version_too_and_roll_no_writer_back() -> None:
    for options in (build_service_options(), build_service_options({Hudi.SMALL_FILE: "1"}), purge._OPTIONS):
        assert {**SAFE, **SHARED}.items() <= options.items()
        assert "hoodie.table.services.enabled" not in options
    assert build_service_options({Hudi.SMALL_FILE: "1"})["hoodie.clustering.plan.strategy.small.file.limit"] == "1"
    assert SAFE.items() <= build_procedure_options().items()
    assert "hoodie.write.concurrency.mode" not in build_procedure_options()


def test_a_heartbeat_is_over_when_it_was_missed_as_often_as_the_options_say() -> None:
    options = build_service_options()
    every, misses = (int(options[key]) for key in (Hudi.HEARTBEAT_INTERVAL, Hudi.HEARTBEAT_MISSES))
    assert heartbeat_seconds() == every * misses / 1000
    assert misses > 1


def test_a_pull_says_both_ends() -> None:
    assert build_incremental_options(after=Instant("1"), up_to=Instant("2")) == {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.read.begin.instanttime": "1",
        "hoodie.datasource.read.end.instanttime": "2",
    }
