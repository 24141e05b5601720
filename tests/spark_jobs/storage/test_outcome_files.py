"""A driver's outcome as a file: whole, read once, on local files and on S3."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from spark_jobs.contracts.errors import ContractError, SettingsError, TransientError
from spark_jobs.contracts.outcomes import JobOutcome
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.outcome_files import take_outcome, write_outcome
from tests.support.aws import BUCKET
from tests.support.commands import end, run

OUTCOME = JobOutcome(exit_code=2, line="error: größer als gedacht")


def check_place(folder: str) -> None:
    """Nothing, then the last that was written, then nothing and no file."""
    uri = f"{folder}/a1.json"
    assert take_outcome(uri) is None
    write_outcome(uri, JobOutcome(exit_code=1, line="try again: x"))
    write_outcome(uri, OUTCOME)
    assert take_outcome(f"{folder}/a2.json") is None
    assert take_outcome(uri) == OUTCOME
    assert take_outcome(uri) is None
    assert Filesystem(folder).list_files() == []


def test_on_local_files(tmp_path):
    check_place(str(tmp_path / "results"))
    check_place((tmp_path / "results").as_uri())


@pytest.mark.services
@pytest.mark.usefixtures("s3")
def test_on_s3(tmp_path):
    check_place(f"s3a://{BUCKET}/{tmp_path.name}/.results")


def test_something_else_at_its_place_is_left(tmp_path):
    (tmp_path / "a1.json").write_bytes(b"\xff")
    with pytest.raises(ContractError, match="is not the outcome of a job"):
        take_outcome(str(tmp_path / "a1.json"))
    assert (tmp_path / "a1.json").exists()


def test_one_that_was_read_counts_though_its_removal_was_not_answered(tmp_path, monkeypatch):
    """A job that ended well would be run again, because no one knew."""
    uri = str(tmp_path / "a1.json")
    write_outcome(uri, OUTCOME)

    def fail(files: Filesystem, path: str) -> None:
        raise OSError("SLOW_DOWN")

    monkeypatch.setattr(Filesystem, "delete", fail)
    assert take_outcome(uri) == OUTCOME


@pytest.mark.parametrize("uri", ["a1.json", "/tmp/", ""])
def test_a_path_without_a_folder_or_a_name(uri):
    with pytest.raises(SettingsError, match="names no file in a folder"):
        take_outcome(uri)


def test_a_place_that_cannot_be_written_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"cannot write .*; give the user write access or set another path"):
        write_outcome(str(tmp_path / "file" / "a1.json"), OUTCOME)


def taken(uri: str) -> str:
    """What the process prints that Airflow's starts."""
    line = [sys.executable, "-m", "spark_jobs.storage.outcome_files", uri]
    return subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True).stdout


@pytest.mark.parametrize(
    "arguments", [("ingst",), (), ("split", "--clock", "yesterday"), ("generate", "--events", "0")]
)
def test_the_command_line_keeps_the_line_of_its_error(tmp_path, capsys, arguments):
    uri = str(tmp_path / "a1.json")
    assert end(["--result-path", uri, *arguments]) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert take_outcome(uri) == JobOutcome(exit_code=2, line=errors.splitlines()[-1])
    assert take_outcome(uri) is None


def test_a_process_keeps_the_line_of_its_error_and_another_takes_it(tmp_path):
    uri = str(tmp_path / "a1.json")
    code, output, errors = run("--result-path", uri, "generate", "--events", "0", environment={})
    assert (code, output) == (2, "")
    assert JobOutcome.from_json(taken(uri)) == JobOutcome(exit_code=2, line=errors[-1])
    assert taken(uri) == ""


def test_the_command_line_keeps_its_result(tmp_path):
    uri, landing = str(tmp_path / "a1.json"), str(tmp_path / "landing")
    words = (f"--result-path={uri}", "generate", "--events", "20", "--topic", "")
    code, output, _ = run(*words, environment={"LAKEHOUSE_LANDING_PATH": landing})
    outcome = JobOutcome.from_json(taken(uri))
    assert (code, outcome.exit_code, outcome.line) == (0, 0, output.splitlines()[-1])
    assert json.loads(outcome.line)["counters"]["events"] == 20


def test_a_result_that_cannot_be_kept_is_no_result(tmp_path):
    (tmp_path / "file").write_text("")
    words = ("--result-path", str(tmp_path / "file" / "a1.json"), "generate", "--events", "20", "--topic", "")
    code, output, errors = run(*words, environment={"LAKEHOUSE_LANDING_PATH": str(tmp_path / "landing")})
    assert (code, output) == (2, "")
    assert errors[-1].startswith("error: cannot write ")


def test_a_disk_that_fails_may_be_tried_again(tmp_path, monkeypatch):
    """Neither half an outcome stays, nor is one removed that was not read."""
    uri, error = str(tmp_path / "a1.json"), OSError(5, "Input/output error")

    def fail(*_given: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(TransientError, match=r"could not be written to .*Input/output error.*; run the job again"):
            write_outcome(uri, OUTCOME)
    assert take_outcome(uri) is None
    write_outcome(uri, OUTCOME)
    with monkeypatch.context() as patch:
        patch.setattr(Filesystem, "read", fail)
        with pytest.raises(TransientError, match=r"could not be read .*Input/output error.*; run the job again"):
            take_outcome(uri)
    assert take_outcome(uri) == OUTCOME


@pytest.mark.parametrize("step", ["read", "delete"])
def test_who_submits_needs_the_right_to_read_and_to_remove(tmp_path, monkeypatch, step):
    uri = str(tmp_path / "a1.json")
    write_outcome(uri, OUTCOME)

    def refuse(*_given: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Filesystem, step, refuse)
        with pytest.raises(SettingsError, match=r"cannot be read and removed .*; give the one who submits both"):
            take_outcome(uri)
    assert take_outcome(uri) == OUTCOME
