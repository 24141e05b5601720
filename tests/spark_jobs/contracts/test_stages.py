"""What a run measures of its stages."""

from __future__ import annotations

from threading import Thread

import pytest

from spark_jobs.contracts.stages import Measure, Stage, Stages


def test_a_passage_is_measured_also_when_it_raises() -> None:
    stages = Stages()
    with pytest.raises(ValueError, match="no"), stages.passed(Stage.LEASE, "sales"):
        raise ValueError("no")
    (measure,) = stages.take()
    assert (measure.stage, measure.table, measure.bytes) == (Stage.LEASE, "sales", 0)
    assert measure.seconds is not None
    assert measure.seconds >= 0


def test_what_was_taken_is_forgotten() -> None:
    stages = Stages()
    stages.wrote(Stage.WRITE, "sales", 7)
    assert stages.take() == (Measure(stage=Stage.WRITE, table="sales", bytes=7),)
    assert stages.take() == ()


def test_threads_lose_nothing() -> None:
    stages = Stages()

    def work() -> None:
        for _ in range(200):
            stages.wrote(Stage.WRITE, "t", 1)

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(measure.bytes for measure in stages.take()) == 800
