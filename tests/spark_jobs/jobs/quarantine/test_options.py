"""What ``quarantine`` refuses before an engine starts: half a command, and files that hold no record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import Settings
from spark_jobs.entrypoint import parse_arguments
from spark_jobs.jobs.quarantine import check, left_behind, read_repaired
from spark_jobs.sources.records import MAX_RECORD_BYTES
from spark_jobs.spec_files.spec_file import load_lake_spec

SPEC = load_lake_spec(Settings().lake_spec)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("replay --all", "replay needs --because"),
        ("discard --reason=not_json", "discard needs --because"),
        ("replay --because=so", "in one way"),
        ("replay --all --rule=one --because=so", "in one way"),
        ("replay --all --because=", "give one line"),
        ("replay --all --because=so --by=", "give one line"),
        ("replay --reason=not_json --repaired=x --because=so", "--repaired goes with replay --record"),
        ("discard --record=0123 --repaired=x --because=so", "--repaired goes with replay --record"),
        ("replay --record=0123 --repaired=/no/such --because=so", "No such file"),
        ("replay --record=0123 --repaired=/ --because=so", "Is a directory"),
        ("show", "in one way"),
        ("show --record=xyz0", "is no beginning of a hash"),
        ("list --state=closed", "states are open"),
    ],
)
def test_half_a_command_is_refused(command, why):
    context = parse_arguments(["quarantine", *command.split()])
    with pytest.raises(ContractError, match=why):
        check(replace(context, lake=SPEC))


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
@pytest.mark.parametrize("record", [b"{}", b"\xff", b"x" * MAX_RECORD_BYTES])
def test_a_repaired_file_has_one_record(tmp_path: Path, record: bytes, end: bytes):
    file = tmp_path / "record"
    file.write_bytes(record + end)
    assert read_repaired(str(file)) == record


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "must hold one record"),
        (b" \n", "must hold one record"),
        (b"{}\n{}", "must hold one record"),
        (b"{}\n\n", "must hold one record"),
        (b"x" * (MAX_RECORD_BYTES + 1), "more than the"),
        (b"x" * MAX_RECORD_BYTES + b"\r\n{}", "must hold one record"),
        (b"x" * 2 * MAX_RECORD_BYTES, "more than the"),
    ],
)
def test_a_file_that_is_no_record_is_refused(tmp_path: Path, content: bytes, why: str):
    file = tmp_path / "record"
    file.write_bytes(content)
    with pytest.raises(ContractError, match=why):
        read_repaired(str(file))


def test_what_did_not_pass_is_reported():
    assert left_behind(read=3, unusable=0) == ()
    (some,), (none,) = left_behind(read=3, unusable=1), left_behind(read=3, unusable=3)
    assert some == "1 of 3 records stay in the quarantine; quarantine list and show say why"
    assert none.startswith("none of the 3 records passed, so they stay in the quarantine")
