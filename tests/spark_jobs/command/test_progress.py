"""What takes long is seen, what is quick is not."""

from __future__ import annotations

import logging
import time

import pytest

from spark_jobs.command.progress import Progress


def test_elsewhere_than_on_a_terminal_lines_name_the_newest_step(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("spark_jobs.jobs.checks")
    before = logger.level
    logger.setLevel(logging.INFO)
    try:
        with Progress("lakehouse quality check", first=0.0, every=0.01):
            logger.info("check %d of %d: %s", 3, 20, "units.name_is_known")
            time.sleep(0.2)
    finally:
        logger.setLevel(before)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("lakehouse quality check, 0 s: check 3 of 20: units.name_is_known")


def test_nothing_is_said_of_what_is_quick(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("lakehouse table list"):
        pass
    assert capsys.readouterr().err == ""
    assert not [each for each in logging.getLogger("spark_jobs").handlers if isinstance(each, Progress)]
