"""The steps of an erasure in their order, and that it ends only when nothing names the person; tables made by hand.

What a step does to rows and files is shown by tests/spark_jobs/jobs/test_erase.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.errors import TransientError
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.lake_spec.people import Person
from spark_jobs.marts.engine import Engine
from spark_jobs.pipelines.erasure import eraser as module
from spark_jobs.pipelines.erasure import search
from spark_jobs.pipelines.erasure.eraser import Eraser
from spark_jobs.pipelines.merge.engine import Merge
from spark_jobs.pipelines.merge.merged import MergeOutcome
from spark_jobs.sources.erasure import FileFinding
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.erasures import Finding
from spark_jobs.storage.layouts import all_layouts
from tests.support.contexts import context_of
from tests.support.made_tables import MadeTable

SPEC = load_lake_spec(Settings().lake_spec)
LAYOUTS = {layout.name: layout for layout in all_layouts(SPEC)}
(AGENT,) = (each for each in SPEC.people if each.role == "agent")


@pytest.fixture
def eraser(tmp_path: Path) -> Eraser:
    """Every table but one has a commit, and what is kept beside the tables is there."""
    base = tmp_path / "lake"
    (tmp_path / "landing").mkdir()
    for name, layout in LAYOUTS.items():
        if name not in ("fast_daily_deals", SPEC.quarantine):
            MadeTable(layout, base / name).commits(1)
        (base / ".changes" / name / "f").mkdir(parents=True)
    for name in (SPEC.lake, "other"):
        (base / ".row_index" / name / "f").mkdir(parents=True)
    no_spark: Any = "no session"
    settings = Settings(base_path=str(base), landing_path=str(tmp_path / "landing"), lease_wait_seconds=0)
    return Eraser(
        context=context_of("erase", settings, spark=no_spark, spec=SPEC),
        person=Person(spec=AGENT, id="17", names=("Ann",)),
    )


def test_the_row_index_is_gone_before_tables_are_rewritten_and_the_log_is_merged_after_all_of_them(
    eraser: Eraser, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, done = Path(eraser.context.settings.table_path(".row_index")), []

    def erase(_spark: object, _spec: object, table: Any, _person: object, _settings: object) -> int:
        assert [path.name for path in index.iterdir()] == ["other"]
        done.append(table.name)
        return 0

    def merge(_: Merge) -> MergeOutcome:
        done.append("merge")
        return MergeOutcome()

    monkeypatch.setattr(module, "erase_in_table", erase)
    monkeypatch.setattr(module, "erase_in_tombstones", lambda *_: done.append("tombstones"))
    monkeypatch.setattr(Merge, "run", merge)
    eraser._erase_in_tables()
    assert done == [*(table.name for table in SPEC.tables if table.name in eraser.touched), "tombstones", "merge"]
    assert {"sales", "agents"} < set(done)


def test_of_every_table_that_could_name_them_older_states_and_the_change_feed_go(
    eraser: Eraser, monkeypatch: pytest.MonkeyPatch
) -> None:
    purged: list[str] = []
    monkeypatch.setattr(module, "purge", lambda _spark, layout, *_: purged.append(layout.name))
    eraser._purge()
    assert purged == [name for name in eraser.touched if name not in ("fast_daily_deals", SPEC.quarantine)]
    left = {path.name for path in Path(eraser.context.settings.table_path(".changes")).iterdir()}
    assert left == set(LAYOUTS) - set(eraser.touched)


def test_every_mart_of_theirs_that_was_ever_computed_is_refreshed(
    eraser: Eraser, monkeypatch: pytest.MonkeyPatch
) -> None:
    refreshed: dict[str, bool] = {}

    def refresh(engine: Engine, mart: MartSpec) -> list[TableOutcome]:
        assert engine.request.moves_cut
        refreshed[mart.name] = engine.request.is_full
        return []

    monkeypatch.setattr(module, "refresh_mart", refresh)
    eraser._refresh_marts()
    wanted = [mart for mart in SPEC.marts if mart.name in eraser.touched and mart.name not in SPEC.caches]
    assert refreshed == {mart.name: eraser._needs_all(mart) for mart in wanted if mart.name != "fast_daily_deals"}
    assert len(refreshed) > 5


def prove(eraser: Eraser, patch: pytest.MonkeyPatch, left: dict[str, int], landing: int = 0) -> Sequence[Finding]:
    """Look again when so many rows of these tables, and records of two landing files, name the person."""
    looked: list[str] = []

    def count(_spark: object, path: str, person: Person, _condition: object) -> int:
        assert person.id == "17"
        looked.append(Path(path).name)
        return left.get(Path(path).name, 0)

    files = [FileFinding(path=f"t/{n}", records=9, taken_in=n and landing, digest="", problem="") for n in range(2)]
    patch.setattr(search, "count_in_files", count)
    patch.setattr(Eraser, "search_landing", lambda *_: files)
    try:
        return eraser.prove({("sales", "rows"): 4, ("savepoints", "of tables that name them"): 2})
    finally:
        there = [name for name in eraser.touched if name not in ("fast_daily_deals", SPEC.quarantine)]
        assert looked == there, "every file of every table that could name them"


def test_it_ends_when_nothing_is_left_anywhere(eraser: Eraser, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = prove(eraser, monkeypatch, {})
    assert {(f.place, f.what): (f.found, f.left) for f in findings}["sales", "rows"] == (4, 0)
    places = {finding.place for finding in findings}
    assert places == {*eraser.touched, "landing files", "savepoints"} - {"fast_daily_deals"}
    assert not any(finding.left for finding in findings)


@pytest.mark.parametrize("place", ["agents", "sales", "sales_log", "slow_agent_performance", "landing files"])
def test_it_does_not_end_while_one_place_names_them(
    eraser: Eraser, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    left = {} if place == "landing files" else {place: 3}
    with pytest.raises(TransientError, match=f"still named: {place}: 3 r"):
        prove(eraser, monkeypatch, left, landing=0 if left else 3)


def test_all_places_are_named_at_once(eraser: Eraser, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TransientError) as caught:
        prove(eraser, monkeypatch, {"agents": 1, "sales": 2}, landing=5)
    assert all(each in str(caught.value) for each in ("agents: 1 rows", "sales: 2 rows", "landing files: 5 records"))


def test_a_person_of_another_kind_is_looked_for_in_other_tables(eraser: Eraser) -> None:
    (customer,) = (each for each in SPEC.people if each.role == "customer")
    other = replace(eraser, person=Person(spec=customer, id="17"))
    assert set(other.touched) != set(eraser.touched)
