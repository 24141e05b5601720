"""What is counted of the quarantine, on rows as Hudi's Rust reader gives them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.overview import quarantine
from spark_jobs.overview.cache import LakeCache
from spark_jobs.overview.quarantine import QuarantineOverview, quarantine_overview
from tests.support.glue_api import running_glue
from tests.support.incidents import catalog_of, write_quarantine
from tests.support.seen_lakes import SeenLake, minute

DAY = datetime(2026, 1, 1, tzinfo=UTC)


def row(number: int, *, reason: str = "not_json", state: str | None = None) -> dict[str, Any]:
    return {
        "record_hash": f"{number:064x}",
        "reason": reason,
        "detail": "line\x1b[31m",
        "raw": b'{"name":"Ada"' + bytes([255]),
        "ingest_time": DAY.replace(minute=number % 60),
        "state": state,
    }


@pytest.fixture
def lake(tmp_path: Path) -> SeenLake:
    lake = SeenLake(tmp_path)
    lake.write(lake.spec.quarantine, 1, action="deltacommit")
    lake.table(lake.spec.quarantine).base("f-0", int(minute(1)))
    return lake


def look(lake: SeenLake, *, with_records: bool = False) -> QuarantineOverview:
    return quarantine_overview(lake.spec, lake.settings, with_records=with_records, cache=LakeCache())


def test_records_are_counted_by_reason_and_state(lake: SeenLake, monkeypatch: pytest.MonkeyPatch):
    rows = [row(1), row(2), row(3, state="discarded"), row(4, reason="no_key")]
    monkeypatch.setattr(quarantine, "_rows", lambda *_: rows)
    found = look(lake)
    assert [(kind.reason, kind.state, kind.records, kind.newest) for kind in found.kinds] == [
        ("no_key", "open", 1, DAY.replace(minute=4)),
        ("not_json", "discarded", 1, DAY.replace(minute=3)),
        ("not_json", "open", 2, DAY.replace(minute=2)),
    ]
    assert found.records == ()


def test_records_are_given_only_when_they_are_wanted_and_escaped(lake: SeenLake, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(quarantine, "_rows", lambda *_: [row(1), row(2, state="replayed")])
    (record,) = look(lake, with_records=True).records
    assert record.raw == '{"name":"Ada"\\xff'
    assert "\x1b" not in record.detail


@given(states=st.lists(st.sampled_from([None, "open", "replayed", "discarded"]), max_size=30))
def test_every_record_is_counted_once(states: list[str | None]):
    rows = [row(number, state=state) for number, state in enumerate(states)]
    kinds = quarantine.kinds_of_rows(rows)
    assert sum(kind.records for kind in kinds) == len(rows)
    assert {kind.state: kind.records for kind in kinds}.get("open", 0) == sum(each in (None, "open") for each in states)


def test_a_large_quarantine_is_left_to_the_job(lake: SeenLake, monkeypatch: pytest.MonkeyPatch):
    lake.table(lake.spec.quarantine).base("f-0", int(minute(1)), size=quarantine.MOST_BYTES + 1)
    monkeypatch.setattr(quarantine, "_rows", lambda *_: pytest.fail("it was read"))
    assert look(lake).instead == "the quarantine is too large to be counted here; run: lakehouse quarantine list"


def test_the_quarantine_of_a_lake_on_s3_is_counted_within_the_same_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    lake = SeenLake(tmp_path)
    write_quarantine(lake, 3)
    with running_glue() as api, catalog_of(api, monkeypatch), monkeypatch.context() as store:
        store.setenv("AWS_ENDPOINT_URL_S3", api.url)
        upload(tmp_path / "lake", "shop")
        settings = replace(lake.settings, base_path="s3a://shop/lake")
        found = quarantine_overview(lake.spec, settings, with_records=True, cache=LakeCache())
        assert [(kind.reason, kind.state, kind.records) for kind in found.kinds] == [("not_json", "open", 3)]
        assert [record.raw for record in found.records] == ["{"] * 3
        store.setattr(quarantine, "MOST_BYTES", 10)
        assert "too large" in quarantine_overview(lake.spec, settings, cache=LakeCache()).instead


def upload(folder: Path, bucket: str) -> None:
    """All files of a folder, below its name."""
    import boto3

    client: Any = boto3.client("s3")
    client.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    for path in folder.rglob("*"):
        if path.is_file():
            client.put_object(Bucket=bucket, Key=f"lake/{path.relative_to(folder)}", Body=path.read_bytes())


def test_a_quarantine_that_was_never_made_is_empty(tmp_path: Path):
    assert look(SeenLake(tmp_path)) == QuarantineOverview()
