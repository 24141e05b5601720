"""The session that a task's next run goes on with: one run at a time has it, and only after a job that ended well."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse_provider.launch import kept_sessions
from lakehouse_provider.launch.kept_sessions import FORGOTTEN_SECONDS, OLDEST_SECONDS, KeptSession

BEGIN = 1_750_000_000.0


@dataclass
class Server:
    """What is read of a connection to it."""

    conn_type: str = "spark_connect"
    conn_id: str = "lakehouse_spark"
    host: str | None = "127.0.0.1"
    port: int | None = 15002
    login: str | None = None
    password: str | None = None
    extra_dejson: dict[str, Any] = field(default_factory=dict)


@dataclass
class Runs:
    """Runs of tasks, one after the other or at the same time, on one machine."""

    folder: Path
    now: float = BEGIN

    def begin(self, task: str = "split_sales.split", server: Server | None = None) -> tuple[KeptSession, str]:
        session = KeptSession(server or Server(), task, folder=self.folder / "kept", now=lambda: self.now)
        return session, session.take()

    def end_well(self, task: str = "split_sales.split", server: Server | None = None) -> str:
        session, taken = self.begin(task, server)
        session.keep()
        return taken


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


@given(steps=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["begin", "well", "badly"]), st.integers(0, 3))))
def test_no_two_runs_have_a_session_and_none_that_ended_badly_comes_back(steps: list[tuple[str, str, int]]) -> None:
    """Runs of two tasks in any order, also at the same time. A new id is one that was not seen before."""
    with tempfile.TemporaryDirectory() as name:
        runs, seen = Runs(Path(name)), set[str]()
        running: list[tuple[str, KeptSession, str]] = []
        left: dict[str, str] = {}
        for task, step, which in steps:
            if step == "begin":
                session, taken = runs.begin(task)
                expected = left.pop(task, None)
                assert taken == expected if expected else taken not in seen
                assert taken not in [each for _, _, each in running]
                seen.add(taken)
                running.append((task, session, taken))
            elif running:
                of, session, taken = running.pop(which % len(running))
                if step == "well":
                    session.keep()
                    left[of] = taken


def test_it_is_of_one_task_one_server_and_one_user_of_it(runs: Runs) -> None:
    kept = runs.end_well()
    others = [Server(host="elsewhere"), Server(port=1), Server(login="ann")]
    assert len({kept, runs.end_well("split_shop.split"), *(runs.end_well(server=each) for each in others)}) == 5
    assert runs.begin()[1] == kept
    assert str(UUID(kept)) == kept


def test_new_code_has_a_new_session(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of Python on the executors keeps the modules that it has imported."""
    kept, stamp = runs.end_well(), kept_sessions.code_stamp()
    monkeypatch.setattr(kept_sessions, "code_stamp", lambda: stamp + 1)
    assert runs.begin()[1] != kept


def test_none_is_gone_on_with_for_more_than_a_day(runs: Runs) -> None:
    kept = runs.end_well()
    runs.now += OLDEST_SECONDS - 1
    assert runs.end_well() == kept
    runs.now += 1
    new = runs.end_well()
    assert new != kept
    assert runs.begin()[1] == new


@pytest.mark.parametrize("text", ["", "no id at all", "../../lake 1", "\xff"])
def test_what_is_no_id_is_not_taken_for_one(runs: Runs, text: str) -> None:
    kept = runs.end_well()
    (file,) = (runs.folder / "kept").iterdir()
    file.write_text(text, encoding="latin-1")
    taken = runs.begin()[1]
    assert str(UUID(taken)) == taken != kept


def test_in_a_folder_that_others_can_write_nothing_is_kept(runs: Runs) -> None:
    kept = runs.end_well()
    (runs.folder / "kept").chmod(0o777)
    assert runs.end_well() != kept
    (runs.folder / "kept").rename(runs.folder / "own")
    (runs.folder / "own").chmod(0o700)
    (runs.folder / "kept").symlink_to(runs.folder / "own")
    assert runs.end_well() != kept


def test_files_of_sessions_that_the_server_has_forgotten_are_removed(runs: Runs) -> None:
    runs.end_well("recompute.apply")
    (old,) = (runs.folder / "kept").iterdir()
    os.utime(old, (BEGIN, BEGIN))
    runs.now = BEGIN + FORGOTTEN_SECONDS + 1
    runs.end_well()
    assert [path for path in (runs.folder / "kept").iterdir() if path == old] == []
