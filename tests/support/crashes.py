"""Runs that die at a chosen step of a job, as a killed process does: nothing after that step happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from spark_jobs.storage.change_feed import write_changes
from spark_jobs.storage.consumers import ConsumerRegistry
from spark_jobs.storage.segment_index import SegmentIndex
from tests.support.lakes import Lake


class CrashError(BaseException):
    """The process ends here; no code of the product may catch it."""


def crash_at_commit(module: str, number: int, *, is_committed: bool) -> Callable[[pytest.MonkeyPatch], None]:
    """Die in the ``number``-th commit that a module of ``spark_jobs`` makes: just before it, or just after."""

    def install(patch: pytest.MonkeyPatch) -> None:
        imported = __import__(f"spark_jobs.{module}", fromlist=["commit"])
        real, calls = imported.commit, []

        def commit(*arguments: Any, **options: Any) -> Any:
            calls.append(1)
            if len(calls) > number:
                raise CrashError
            if len(calls) < number or is_committed:
                done = real(*arguments, **options)
            if len(calls) >= number:
                raise CrashError
            return done

        patch.setattr(imported, "commit", commit)

    return install


def crash_before_consumer_file(patch: pytest.MonkeyPatch) -> None:
    """Die when every table is committed and the consumer's file is not yet written."""

    def write(*arguments: Any) -> None:
        raise CrashError

    patch.setattr(ConsumerRegistry, "write", write)


def crash_in_row_index(step: str) -> Callable[[pytest.MonkeyPatch], None]:
    """Die in a step of the row index: writing what is about to be committed, or hearing that it was."""

    def install(patch: pytest.MonkeyPatch) -> None:
        def die(*arguments: Any, **options: Any) -> None:
            raise CrashError

        patch.setattr(SegmentIndex, step, die)

    return install


def crash_in_feed(module: str, number: int, *, is_written: bool) -> Callable[[pytest.MonkeyPatch], None]:
    """Die in the ``number``-th change feed that a module of ``spark_jobs`` writes: before it, or when it is there."""

    def install(patch: pytest.MonkeyPatch) -> None:
        calls: list[int] = []

        def write(*arguments: Any) -> dict[str, str]:
            calls.append(1)
            place = len(calls)
            metadata = write_changes(*arguments) if place < number or (is_written and place == number) else {}
            if place >= number:
                raise CrashError
            return metadata

        patch.setattr(f"spark_jobs.{module}.write_changes", write)

    return install


_INTAKE, _MERGE = "pipelines.ingestion.intake", "pipelines.merge.engine"
CRASHES: dict[str, list[Callable[[pytest.MonkeyPatch], None]]] = {
    "ingest": [crash_at_commit(_INTAKE, number, is_committed=done) for number in (1, 2) for done in (False, True)],
    "split": [
        crash_before_consumer_file,
        *map(crash_in_row_index, ("write_layer", "accept")),
        *(crash_at_commit(_MERGE, number, is_committed=done) for number in (1, 3, 6) for done in (False, True)),
        *(crash_in_feed(_MERGE, number, is_written=done) for number in (1, 2) for done in (False, True)),
    ],
    "mirrors": [
        crash_before_consumer_file,
        *map(crash_in_row_index, ("write_layer", "accept")),
        *(crash_at_commit(_MERGE, number, is_committed=done) for number in (1, 3) for done in (False, True)),
    ],
    "mart": [
        crash_before_consumer_file,
        *(
            crash_at_commit("marts.refresh", number, is_committed=done)
            for number in (1, 2, 4)
            for done in (False, True)
        ),
    ],
}


def run_and_crash(lake: Lake, job: str, install: Callable[[pytest.MonkeyPatch], None], **options: Any) -> bool:
    """Run the job and let it die; False when it ended before it came to that step."""
    with pytest.MonkeyPatch.context() as patch:
        install(patch)
        try:
            lake.run(job, **options)
        except CrashError:
            return True
        return False
