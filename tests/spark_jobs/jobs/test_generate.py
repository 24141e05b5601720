"""The job: options from a parser, a JobResult that travels, files where the settings say."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.job_options.generate import GenerateOptions
from tests.support.contexts import context_of, run_in

CLOCK = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)


def _run(landing, *argv):
    parser = argparse.ArgumentParser(allow_abbrev=False)
    GenerateOptions.add_to(parser)
    options = vars(parser.parse_args(argv))
    return run_in(context_of("generate", Settings(landing_path=str(landing)), clock=CLOCK, **options))


def test_a_run_in_two_calls(tmp_path):
    first = _run(
        tmp_path, "--events", "300", "--total-events", "500", "--late-rate", "0.2", "--no-tombstones", "--gzip"
    )
    assert (first.job, first.status, first.clock) == ("generate", "done", "2026-03-18T15:30:00Z")
    assert (first.counters["events"], first.counters["events_left"]) == (300, 200)
    assert any("--resume" in message for message in first.messages)
    assert JobResult.from_json(first.to_json()) == first
    second = _run(tmp_path, "--resume")
    assert (second.counters["events"], second.counters["events_so_far"], second.counters["events_left"]) == (
        200,
        500,
        0,
    )
    names = sorted(path.name for path in (tmp_path / "erp.dbo.SALES").iterdir())
    assert names[0] == "erp.dbo.SALES+0+0000000000.jsonl.gz"
    assert names[1].endswith(f"+{first.counters['records']:010d}.jsonl")
    assert sorted(path.name for path in (tmp_path / "_generator").iterdir()) == [
        "erp.dbo.SALES.state.json.gz",
        "erp.dbo.SALES.truth.json.gz",
    ]


def test_wrong_options_are_contract_errors(tmp_path):
    with pytest.raises(ContractError, match="is not a time"):
        _run(tmp_path, "--end", "tomorrow")
    with pytest.raises(ContractError, match="--broken-rate"):
        _run(tmp_path, "--broken-rate", "7")
    with pytest.raises(ContractError, match="local files only"):
        _run("s3a://bucket/landing", "--events", "1")
