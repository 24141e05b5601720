"""The same seed and options give the same bytes, in one call or in many; nothing half-written is ever in sight."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.generator import generation
from spark_jobs.generator.generation import generate
from spark_jobs.generator.landing import LandingFile, read_document, write_document
from spark_jobs.generator.request import Request

CLOCK = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)
EVENTS = 2_000
RATES = {"late": 0.1, "redelivery": 0.1, "delete": 0.05, "broken": 0.02}


def _files(landing: Path) -> dict[str, bytes]:
    return {str(path.relative_to(landing)): path.read_bytes() for path in landing.rglob("*") if path.is_file()}


@pytest.mark.parametrize("is_gzip", [False, True], ids=["plain", "gzip"])
def test_the_same_options_give_the_same_bytes(make, tmp_path, is_gzip):
    for name in ("one", "two"):
        make(tmp_path / name, events=600, seed=3, rates=RATES, is_gzip=is_gzip)
    make(tmp_path / "other seed", events=600, seed=4, rates=RATES, is_gzip=is_gzip)
    assert _files(tmp_path / "one") == _files(tmp_path / "two")
    assert _files(tmp_path / "one") != _files(tmp_path / "other seed")


def test_many_calls_give_what_one_call_gives(make, tmp_path):
    whole = make(tmp_path / "whole", events=EVENTS, seed=5, rates=RATES)
    for events in (1, 60, 900, 1_015):  # within the snapshot, at its end, half-way, in the rush before the end
        request = Request(clock=CLOCK, events=events, total_events=EVENTS, seed=5, rates=RATES, is_resume=True)
        generate(request, tmp_path / "parts")
    parts = make(tmp_path / "parts", is_resume=True)
    assert parts.outcome.counters["events"] == EVENTS - 1_976
    assert parts.topic.lines == whole.topic.lines
    assert parts.truth == whole.truth
    assert parts.outcome.state.read_bytes() == whole.outcome.state.read_bytes()


def test_a_finished_run_goes_on_to_a_later_end(make, tmp_path):
    first = make(tmp_path, events=1_000, rates=RATES)
    later = make(tmp_path, events=500, end=first.outcome.plan.end + timedelta(hours=5), is_resume=True)
    times = [event["source"]["ts_ms"] for event in later.topic.distinct]
    assert later.truth["events"] == len(times) == 1_500
    assert times == sorted(times)
    assert first.outcome.plan.end_ms <= times[1_000] < times[-1] < later.outcome.plan.end_ms
    assert sum(event["op"] == "r" for event in later.topic.distinct[1_000:]) == 0


def test_the_life_does_not_depend_on_its_delivery(make):
    calm, rough = (
        make(events=1_000, rates=dict.fromkeys(RATES, 0.0)),
        make(events=1_000, rates={**RATES, "delete": 0.0}),
    )
    assert calm.topic.distinct == rough.topic.distinct
    assert len(calm.topic.lines) == 1_000 < len(rough.topic.lines)


def test_files_are_cut_as_requested_and_named_by_offset(make):
    run = make(events=1_000, files=3, is_gzip=True, rates=RATES)
    offsets = [
        int(path.name.removesuffix(".jsonl.gz").rpartition("+")[2]) for path in sorted(run.outcome.folder.iterdir())
    ]
    assert [path.name[:16] for path in run.outcome.folder.iterdir()] == ["erp.dbo.SALES+0+"] * 3
    assert offsets[0] == 0
    assert 334 <= offsets[1] < offsets[2] < run.outcome.counters["records"] == len(run.topic.lines)


def test_a_call_that_dies_leaves_no_part_of_a_file_and_can_be_made_again(make, tmp_path, monkeypatch):
    make(tmp_path / "wanted", events=900, events_per_file=250)
    written = []

    def write_or_die(file: LandingFile, records: list[str]) -> None:
        file._file.write(records[0].encode())
        written.append(file.path.name)
        if len(written) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(LandingFile, "write", write_or_die)
    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "died", events=900, events_per_file=250)
    monkeypatch.undo()
    assert sorted(path.name for path in (tmp_path / "died" / "erp.dbo.SALES").iterdir()) == written[:2]
    make(tmp_path / "died", events_per_file=250, is_resume=True)
    assert _files(tmp_path / "died") == _files(tmp_path / "wanted")


def test_a_topic_that_is_not_its_own_is_left_alone(make, tmp_path):
    make(tmp_path, events=10)
    with pytest.raises(ContractError, match="go on with --resume"):
        make(tmp_path, events=10)
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "a.jsonl").write_text("null\n")
    with pytest.raises(ContractError, match="another origin"):
        make(tmp_path, events=10, topic="foreign", is_resume=True)


def test_a_damaged_state_and_a_folder_that_is_none_are_refused(life, tmp_path):
    request = Request(clock=life.outcome.plan.end, events=10, is_resume=True)
    state = tmp_path / "_generator" / "erp.dbo.SALES.state.json.gz"
    state.parent.mkdir()
    state.write_bytes(life.outcome.state.read_bytes()[:1_000])
    with pytest.raises(SettingsError, match="is damaged"):
        generate(request, tmp_path)
    (tmp_path / "a file").write_text("")
    with pytest.raises(SettingsError, match="set LAKEHOUSE_LANDING_PATH"):
        generate(request, tmp_path / "a file")


def test_a_state_of_another_version_is_not_gone_on_with(make, tmp_path):
    state = make(tmp_path, events=10, total_events=20).outcome.state
    write_document(state, {**read_document(state), "version": 0})
    before = _files(tmp_path)
    with pytest.raises(ContractError, match=r"is of another version of the generator; remove it and the topic's"):
        make(tmp_path, events=10, is_resume=True)
    assert _files(tmp_path) == before


def test_long_runs_report_their_progress(make, monkeypatch, caplog):
    monkeypatch.setattr(generation, "_PROGRESS_SECONDS", 0.0)
    with caplog.at_level(logging.INFO):
        make(events=2_000)
    assert "1000 of 2000 events written" in caplog.text
