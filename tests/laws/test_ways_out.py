"""A restore that dies at any step, and whatever command comes next: that changes nothing, and the advice ends it.

Tables are made by hand, and the engine restores one as Hudi does: it announces a plan, takes commits away one by one,
and then says that it is done. Commands that would rewrite something meanwhile are run; their first checks are
the same as on real tables (tests/faults has these, each cut off at each of its operations).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.clocks import RowsKeptError
from spark_jobs.contracts.errors import ErasureUnfinishedError, RestoreUnfinishedError
from spark_jobs.contracts.settings import Settings
from spark_jobs.jobs import doctor
from spark_jobs.pipelines.erasure.trials import check_beforehand
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage import file_leases
from spark_jobs.storage.erasures import Erasures, Pending
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.kept_rows import AHEAD_FOLDER, kept_commits
from spark_jobs.storage.layouts import all_layouts
from spark_jobs.storage.restores import Restores
from spark_jobs.storage.savepoints import SavepointRecords
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.unfinished import check_nothing_unfinished
from tests.support.contexts import context_of, run_in
from tests.support.made_engine import MadeEngine
from tests.support.made_tables import MadeTable, at
from tests.support.restores import restore_plan

SHIPPED = load_lake_spec(Settings().lake_spec)
SPEC = replace(SHIPPED, tables=tuple(each for each in SHIPPED.tables if each.name in ("units", "sales")), marts=())
"""Few tables, because the lake is made once for every step."""
LAYOUTS = {layout.name: layout for layout in all_layouts(SPEC)}
KEPT, MADE_LATER = ("sales_log", "sales"), "units"
START = datetime(2026, 1, 1, tzinfo=UTC)
STEPS = ("write", "delete", "delete_tree")


class DeathError(Exception):
    """The process is killed."""


@dataclass
class Engine(MadeEngine):
    """Restores a table in steps, and dies at the one that is wanted, counted with those of files beside."""

    left: int = -1
    """Steps until it dies; -1: never."""

    def step(self) -> None:
        if self.left == 0:
            raise DeathError
        self.left -= self.left > 0

    def _rollback_to_savepoint(self, timeline: Path, *, instant_time: str) -> None:
        assert (timeline / f"{instant_time}.savepoint").exists(), "not kept"
        plan = timeline / f"{'3' * 17}.restore.requested"
        later = sorted({f.name.partition(".")[0] for f in timeline.glob("0*commit")} - {instant_time}, reverse=True)
        later = [instant for instant in later if instant > instant_time]
        self.step()
        plan.write_bytes(restore_plan(later, instant_time))
        for instant in later:
            self.step()
            for file in timeline.glob(f"{instant}.*"):
                assert not file.name.endswith(".savepoint"), "Hudi refuses to pass a savepoint"
                file.unlink()
        self.step()
        plan.unlink()


@dataclass
class Lake:
    """Two tables kept at their second commit, a table made later, and a savepoint of the later state."""

    settings: Settings
    engine: Engine = field(default_factory=Engine)
    hours: int = 0

    def run(self, called: str, /, **options: Any) -> Any:
        engine: Any = self.engine
        clock = START + timedelta(hours=self.hours)
        return run_in(context_of(called, self.settings, spark=engine, spec=SPEC, clock=clock, **options))

    def keep(self, label: str) -> str:
        self.hours += 1
        self.run("savepoint", action="create", label=label, keep=None)
        return SavepointRecords(self.settings).all()[-1].id

    def writes(self) -> dict[str, list[str]]:
        tables = (*KEPT, MADE_LATER)
        lines = {name: Timeline(table=name, path=self.settings.table_path(name)) for name in tables}
        return {name: [write.time for write in line.writes] for name, line in lines.items() if line.writes}

    def files(self) -> dict[str, bytes]:
        base = Path(self.settings.base_path)
        found = (path for path in base.rglob("*") if path.is_file() and ".leases" not in path.parts)
        return {str(path.relative_to(base)): path.read_bytes() for path in found}

    def advice(self) -> list[str]:
        """What the doctor says is to be done about restores, each once."""
        context = context_of("doctor", self.settings, spec=SPEC, clock=START, action="check")
        found = doctor.findings_of(context, LAYOUTS)
        return sorted({each.then for each in found if "restore" in each.ailment.value})


def make(folder: Path) -> tuple[Lake, str, str]:
    lake = Lake(Settings(base_path=str(folder / "lake"), lease_wait_seconds=0))
    tables = {name: MadeTable(LAYOUTS[name], Path(lake.settings.table_path(name))) for name in KEPT}
    for table in tables.values():
        table.commits(1, 2)
    kept = lake.keep("day")
    for table in tables.values():
        table.commits(3, 4)
    MadeTable(LAYOUTS[MADE_LATER], Path(lake.settings.table_path(MADE_LATER))).commits(5).base("a", 5)
    return lake, kept, lake.keep("later")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_leases, "_holder_of_removed", lambda _path: "")


def die(lake: Lake, patch: pytest.MonkeyPatch, to: str, at_step: int) -> bool:
    """A restore that dies at a step; False when it came to its end before."""
    for name in STEPS:
        real = getattr(Filesystem, name)

        def do(files: Filesystem, *arguments: Any, real: Any = real) -> Any:
            lake.engine.step()
            return real(files, *arguments)

        patch.setattr(Filesystem, name, do)
    lake.engine.left = at_step
    try:
        lake.run("restore", to=to, yes=True)
    except DeathError:
        return True
    finally:
        lake.engine.left = -1
        patch.undo()
    return False


def others(lake: Lake, kept: str, later: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """Commands that have to wait, or their first checks."""
    yield "erase", lambda: check_beforehand(SPEC, lake.settings)
    yield (
        "replay, load, snapshot, recompute, apply, undo",
        lambda: check_nothing_unfinished(lake.settings, SPEC.table_names),
    )
    yield "savepoint delete", lambda: lake.run("savepoint", action="delete", name=kept)
    yield "savepoint create", lambda: lake.run("savepoint", action="create", label="day", keep=1)
    if SavepointRecords(lake.settings).find(later):
        yield "restore to another", lambda: lake.run("restore", to=later, yes=True)


def test_of_a_restore_that_dies_at_any_step_every_other_command_finds_out_and_the_advice_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    deaths, waited = 0, set[str]()
    for step in range(80):
        lake, kept, later = make(tmp_path / f"{step}")
        before = lake.writes()
        if not die(lake, monkeypatch, kept, step):
            break
        deaths += 1
        has_begun = Restores(lake.settings).pending() is not None
        if not has_begun:
            assert lake.advice() == []
            assert lake.writes() in (before, {name: [at(1), at(2)] for name in KEPT}), (
                "before it began, or when it ended"
            )
        for name, run in others(lake, kept, later) if has_begun else ():
            files = lake.files()
            with pytest.raises(RestoreUnfinishedError, match=f"restore --to {kept} --yes"):
                run()
            assert lake.files() == files, f"{name} changed something"
            waited.add(name)
        for advice in lake.advice():
            assert advice == f"lakehouse restore {kept} --yes"
        lake.run("restore", to=kept, yes=True)
        assert lake.writes() == {name: [at(1), at(2)] for name in KEPT}
        assert not Path(lake.settings.table_path(MADE_LATER)).exists()
        assert lake.advice() == []
        check_nothing_unfinished(lake.settings, SPEC.table_names)
    assert deaths > 15
    assert len(waited) == 5


def test_while_an_erasure_is_unfinished_nothing_comes_back_by_a_restore(tmp_path: Path):
    lake, kept, _ = make(tmp_path)
    Erasures(lake.settings).begin(Pending(role="agent", id="17", names=()))
    files = lake.files()
    for run in (
        lambda: lake.run("restore", to=kept, yes=True),
        lambda: lake.run("restore", to=kept),
        lambda: check_nothing_unfinished(lake.settings),
    ):
        with pytest.raises(ErasureUnfinishedError, match="run the same erase with --yes again"):
            run()
    assert lake.files() == files
    check_beforehand(SPEC, lake.settings)


def test_a_restore_drops_what_a_repair_keeps_of_its_tables_and_everything_else_waits_for_the_repair(tmp_path: Path):
    """Committed again after the restore, the rows would say that what came before them was read."""
    lake, kept, _ = make(tmp_path)
    for table in ("sales_log", SPEC.quality.table):
        Path(lake.settings.table_path(AHEAD_FOLDER), table, at(9)).mkdir(parents=True)
    for run in (
        lambda: check_beforehand(SPEC, lake.settings),
        lambda: check_nothing_unfinished(lake.settings),
        lambda: lake.run("savepoint", action="create", label="day", keep=1),
    ):
        with pytest.raises(RowsKeptError, match="run doctor repair once more"):
            run()
    planned = lake.run("restore", to=kept)
    assert f"sales_log: rows that doctor repair took off and keeps are dropped: {at(9)}" in planned.messages
    assert [*kept_commits(lake.settings)] == sorted(["sales_log", SPEC.quality.table])
    lake.run("restore", to=kept, yes=True)
    assert [*kept_commits(lake.settings)] == [SPEC.quality.table], "results of quality stay"
    assert lake.writes() == {name: [at(1), at(2)] for name in KEPT}


def test_no_command_waits_for_one_that_waits_for_it(tmp_path: Path):
    """Both are unfinished, as an earlier release could leave them: the restore goes first, then the erasure."""
    lake, kept, _ = make(tmp_path)
    Erasures(lake.settings).begin(Pending(role="agent", id="17", names=()))
    plan = Path(lake.settings.table_path("sales"), f".hoodie/{'3' * 17}.restore.requested")
    plan.write_bytes(restore_plan([at(4), at(3)], at(2)))
    with pytest.raises(RestoreUnfinishedError):
        check_beforehand(SPEC, lake.settings)
    assert lake.advice() == [f"lakehouse restore {kept} --yes"]
    lake.run("restore", to=kept, yes=True)
    check_beforehand(SPEC, lake.settings)
