"""What an erasure names as not reached: Kafka, folders that are no tables, and versions of objects that stayed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.settings import Settings
from spark_jobs.pipelines.erasure import unreached
from spark_jobs.pipelines.erasure.unreached import find_unreached, forget_versions, remove_versions
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.erasures import Finding
from spark_jobs.storage.s3_versions import OldVersions
from tests.support.contexts import context_of

SPEC = load_lake_spec(Settings().lake_spec)
LAKE, LANDING = "s3a://lake/sales", "s3a://landing/erp"


class Looking:
    context = context_of("erase", Settings(base_path=LAKE, landing_path=LANDING))
    touched = ("sales_log", "agents")


def test_kafka_and_other_folders_are_named(tmp_path: Path) -> None:
    settings = Settings(base_path=str(tmp_path))
    assert find_unreached(SPEC, settings) == []
    (tmp_path / "exports").mkdir()
    kafka, others = find_unreached(SPEC, replace(settings, kafka_servers="broker:9092"))
    assert kafka.startswith("Kafka keeps the messages of ")
    assert all(topic in kafka for topic in SPEC.source.topics)
    assert others == "not searched, because they are no tables of the lake: exports"


def test_versions_of_what_was_rewritten_go_and_what_stays_is_named_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched: list[str] = []
    left = {f"{LAKE}/agents": OldVersions(path=f"{LAKE}/agents", found=5, left=2, reason="AccessDenied")}

    def remove(_client: object, paths: list[str]) -> list[OldVersions]:
        searched.extend(paths)
        return [left.get(path, OldVersions(path=path, found=int("log" in path), left=0)) for path in paths]

    monkeypatch.setattr(unreached, "open_client", lambda: None)
    monkeypatch.setattr(unreached, "remove_old_versions", remove)
    search: Any = Looking()
    findings, notes = remove_versions(search)
    beside = [f"{LAKE}/.changes", f"{LAKE}/.row_index"]
    assert searched == [LANDING, f"{LAKE}/sales_log", f"{LAKE}/agents", *beside]
    assert findings == [
        Finding(place=f"{LAKE}/sales_log", what="old versions of objects", found=1, left=0),
        Finding(place=f"{LAKE}/agents", what="old versions of objects", found=5, left=2),
    ]
    assert [note.partition(" (")[0] for note in notes] == [f"{LAKE}/agents: 2 old versions of objects were not deleted"]
    searched.clear()
    left[f"{LAKE}/.erasures"] = OldVersions(path=f"{LAKE}/.erasures", found=0, left=-1, reason="AccessDenied")
    (note,) = forget_versions(search.context.settings)
    assert note.startswith(f"{LAKE}/.erasures: unknown many old versions of objects were not deleted (AccessDenied)")
    assert searched == [f"{LAKE}/.erasures"], "its notes named the person"


def test_on_local_files_no_object_store_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise AssertionError("no client is needed")

    monkeypatch.setattr(unreached, "open_client", refuse)
    search: Any = Looking()
    search.context = context_of("erase", Settings(base_path=str(tmp_path), landing_path=str(tmp_path / "landing")))
    assert remove_versions(search) == ([], [])
    assert forget_versions(search.context.settings) == []
