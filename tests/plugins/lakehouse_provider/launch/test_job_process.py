"""The reason that is given for a job that failed: its last clear line, else its last line; stops, early or late."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse_provider.launch.job_command import JobCommand
from lakehouse_provider.launch.job_process import CLEAR, JobExit, JobProcess
from lakehouse_provider.launch.launcher import STOPPED

NOISE = st.sampled_from(["INFO began", "  ", "", "WARN error: in the middle", "Traceback"])
CLEAR_LINE = st.builds(lambda start, text: f"{start}{text}", st.sampled_from(CLEAR), st.text("abc", min_size=1))


@given(before=st.lists(NOISE | CLEAR_LINE), last=CLEAR_LINE, after=st.lists(NOISE))
def test_the_last_clear_line_is_the_reason_whatever_else_was_printed(
    before: list[str], last: str, after: list[str]
) -> None:
    """A driver may say what a step of it found before it says how it ended."""
    assert JobExit(code=2, last_line="", tail=(*before, last, *after)).reason == last


@given(lines=st.lists(NOISE))
def test_without_one_it_is_the_last_line_that_says_something(lines: list[str]) -> None:
    printed = [line for line in lines if line.strip()]
    assert JobExit(code=137, last_line="", tail=tuple(lines)).reason == (
        printed[-1] if printed else "it printed nothing"
    )


def python(*words: str) -> JobProcess:
    command = JobCommand(arguments=(sys.executable, "-c", *words), environment=os.environ)
    return JobProcess(command, log=lambda _: None)


def test_one_that_has_ended_needs_no_stop() -> None:
    process = python("print('done')")
    ended = process.run()
    process.stop()
    assert (ended.code, ended.last_line) == (0, "done")


def test_one_that_is_stopped_before_it_begins_never_does(tmp_path: Path) -> None:
    process = python("import pathlib, sys; pathlib.Path(sys.argv[1]).touch()", str(tmp_path / "begun"))
    process.stop()
    ended = process.run()
    assert (ended.code, ended.reason) == (STOPPED, "it was stopped before it began")
    assert not (tmp_path / "begun").exists()


def test_one_that_is_stopped_while_it_begins_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal may come when the system has started the process and it is not known here yet."""
    process, begin = python("import signal; signal.alarm(20); signal.pause()"), subprocess.Popen

    def begin_when_stopped(*arguments: Any, **options: Any) -> subprocess.Popen[str]:
        begun = begin(*arguments, **options)
        process.stop()
        return begun

    monkeypatch.setattr(subprocess, "Popen", begin_when_stopped)
    # By the signal itself when the launcher was not ready for it yet.
    assert process.run().code in {STOPPED, -signal.SIGTERM}
