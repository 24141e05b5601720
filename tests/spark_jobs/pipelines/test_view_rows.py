"""Rows of views: by the engine that is certain, of one state of the tables behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.answers import Answer
from spark_jobs.contracts.errors import ContractError, TransientError
from spark_jobs.contracts.settings import Settings
from spark_jobs.pipelines import view_rows
from spark_jobs.pipelines.local_query import AnsweredBySparkError
from spark_jobs.pipelines.view_rows import ViewReader
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.spec_files.views import load_views
from spark_jobs.storage.lake_specs import read_lake_spec
from tests.support.hand_made_lakes import HandMadeLake
from tests.support.lakes import SpecLake, write_spec
from tests.support.loading_lakes import lake_document, write_csv

SPEC = load_lake_spec(Settings().lake_spec)
VIEWS = load_views(Path(Settings().views_path))
AGENTS = {"agent_id": "long", "agent_name": "string"}
CONTRACTS = {"agent_id": "long", "contracts": "long", "contract_total": "double"}
COLUMNS = ("agent_name", "contracts")


def no_session() -> NoReturn:
    raise AssertionError("Spark was opened")


def reader(settings: Settings, engine: str = "auto") -> ViewReader:
    return ViewReader(spec=SPEC, settings=settings, views=VIEWS, engine=engine, session=no_session)


@dataclass
class Planned:
    """A statement whose rows are known; each read may be followed by a commit."""

    rows: Sequence[tuple[Any, ...]]
    lake: HandMadeLake | None = None
    times: int = 0
    newest: int = 10

    def answer(self, most: int | None) -> Answer:
        if self.lake is not None and self.times:
            self.times, self.newest = self.times - 1, self.newest + 1
            self.lake.commit("agents", self.newest, AGENTS)
        return Answer.of(COLUMNS, self.rows, most)


@pytest.fixture
def lake(tmp_path: Path) -> HandMadeLake:
    made = HandMadeLake(tmp_path)
    made.commit("agents", 1, AGENTS)
    made.commit("stitch_agent_contracts", 2, CONTRACTS)
    return made


def test_rows_have_the_instants_of_the_tables_behind_them(lake: HandMadeLake, monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []

    def plan(sql: str, *_: object) -> Planned:
        asked.append(sql)
        return Planned([("Ann", 1)])

    monkeypatch.setattr(view_rows, "plan_locally", plan)
    found = reader(lake.settings).read("agent_contracts", COLUMNS)
    assert asked == ["SELECT agent_name, contracts FROM agent_contracts"]
    assert found.answer == Answer.of(COLUMNS, [("Ann", 1)], None)
    assert found.instants == {"agents": f"{1:017d}", "stitch_agent_contracts": f"{2:017d}"}


def test_a_table_that_was_never_made_is_none_and_nothing_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = HandMadeLake(tmp_path)
    made.commit("agents", 1, AGENTS)
    monkeypatch.setattr(view_rows, "plan_locally", no_session)
    found = reader(made.settings).read("agent_contracts", COLUMNS)
    assert (found.answer, found.instants["stitch_agent_contracts"]) == (None, None)


def test_a_table_that_is_written_meanwhile_is_read_again_but_not_forever(
    lake: HandMadeLake, monkeypatch: pytest.MonkeyPatch
):
    planned = Planned([("Ann", 1)], lake, times=2)
    monkeypatch.setattr(view_rows, "plan_locally", lambda *_: planned)
    assert reader(lake.settings).read("agent_contracts", COLUMNS).instants["agents"] == f"{12:017d}"
    planned.times = 9
    with pytest.raises(TransientError, match="its tables were written each time that it was read; run again"):
        reader(lake.settings).read("agent_contracts", COLUMNS)


def test_what_is_not_certain_is_sparks_and_local_alone_refuses_it(lake: HandMadeLake, monkeypatch: pytest.MonkeyPatch):
    def plan(*_: object) -> NoReturn:
        raise AnsweredBySparkError("agents is on an object store")

    monkeypatch.setattr(view_rows, "plan_locally", plan)
    with pytest.raises(ContractError, match="agents is on an object store; leave out --engine local"):
        reader(lake.settings, "local").read("agent_contracts", COLUMNS)
    with pytest.raises(AssertionError, match="Spark was opened"):
        reader(lake.settings).read("agent_contracts", COLUMNS)


def test_more_rows_than_fit_are_refused(lake: HandMadeLake, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(view_rows, "MOST_ROWS", 2)
    monkeypatch.setattr(view_rows, "plan_locally", lambda *_: Planned([("a", 1)] * 3))
    with pytest.raises(ContractError, match="view agent_contracts has more than 2 rows; add them up in the view"):
        reader(lake.settings).read("agent_contracts", COLUMNS)


THINGS = {
    "name": "things",
    "key": "id",
    "columns": [
        {"name": "id", "type": "bigint"},
        {"name": "name", "type": "string"},
        {"name": "price", "type": "decimal", "precision": 12, "scale": 2},
        {"name": "seen_at", "type": "timestamp"},
    ],
}
ROWS: list[dict[str, Any]] = [
    {"id": 1, "name": "a", "price": "1.50", "seen_at": "2026-01-01T00:00:00Z"},
    {"id": 2, "name": "<b>", "price": "-10.00", "seen_at": "2026-01-02T03:04:05Z"},
    {"id": 3, "price": "9999999999.99"},
]


@pytest.mark.hudi
def test_both_engines_give_the_same_rows_of_views_and_tables(spark: SparkSession, tmp_path: Path):
    lake = SpecLake(spark=spark, folder=tmp_path, spec=write_spec(tmp_path, lake_document([THINGS])))
    file = write_csv(tmp_path / "things.csv", ROWS, ["id", "name", "price", "seen_at"])
    lake.run("load", table="things", from_path=str(file))
    views = tmp_path / "views"
    (views / "own").mkdir(parents=True)
    view = "SELECT things.name, things.price, things.seen_at FROM things\n"
    (views / "own" / "named_things.sql").write_text(view, encoding="utf-8")
    settings = replace(lake.settings, views_path=str(views))
    here, there = (
        ViewReader(
            spec=read_lake_spec(settings),
            settings=settings,
            views=load_views(views),
            engine=engine,
            session=(lambda: spark) if engine == "spark" else no_session,
        )
        for engine in ("local", "spark")
    )
    for name, columns in (("named_things", ("name", "price", "seen_at")), ("things", ("price",))):
        one, other = here.read(name, columns), there.read(name, columns)
        assert one.answer is not None
        assert other.answer is not None
        assert one.answer.columns == other.answer.columns == columns
        assert sorted(map(repr, one.answer.rows)) == sorted(map(repr, other.answer.rows))
        assert len(one.answer.rows) == len(ROWS)
        assert one.instants == other.instants
