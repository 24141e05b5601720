"""Whatever happens to a mart, the store has its newest rows after a run, and a run writes no more than what changed.

The mart and its change feed are made by hand (tests/support/served_marts.py), the store is a file of SQLite. What the
rows have to be is kept beside it, in plain dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.pipelines.mart_rows import MartRows
from spark_jobs.pipelines.serving import ReadRows, Serving, serve_mart
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.serving.store import ServingStore
from spark_jobs.storage.timeline import Timeline
from tests.support.contexts import context_of
from tests.support.served_marts import MadeMart, MadeRows, Rows
from tests.support.serving import Place, file_of

MART = "fast_daily_deals"
KEYS = ("a", "-|d", "é\\|e")


@pytest.fixture(scope="module")
def spec() -> LakeSpec:
    return load_lake_spec(Settings().lake_spec)


@dataclass
class Served:
    """A mart and the store it is served from."""

    mart: MadeMart
    place: Place
    spec: LakeSpec
    is_certain: bool = False
    """True while all that happened since the last run is in the change feed."""

    @classmethod
    def new(cls, folder: Path, spec: LakeSpec) -> Served:
        lake = Settings(base_path=str(folder / "lake"))
        return cls(mart=MadeMart(MART, lake), place=file_of(folder / "serving.sqlite"), spec=spec)

    def run(self, read: ReadRows | None = None) -> Serving:
        """Serve it once."""
        context = context_of("serve", self.mart.settings, spec=self.spec, layer=["fast"])
        store: ServingStore = self.place.store()
        return serve_mart(context, self.spec.mart(MART), store, read or self.mart.read)

    def rows(self) -> list[tuple[str, int]]:
        """What a dashboard sees; nothing before there is a table."""
        if MART not in self.place.tables():
            return []
        return sorted(self.place.query(f"SELECT part, amount FROM {MART}"))

    def served_at(self) -> str:
        """The instant that the store has; "" for none."""
        if not self.place.tables() >= {MART, "served_marts"}:
            return ""
        return str(next(iter(self.place.query("SELECT instant FROM served_marts")), ("",))[0])

    def assert_newest(self) -> None:
        assert self.rows() == sorted(self.mart.rows.values())
        ((at, count),) = self.place.query("SELECT instant, row_count FROM served_marts")
        of_changes = [write.time for write in self.mart.timeline.writes if not self.mart.timeline.is_service(write)]
        assert (at, count) == (of_changes[-1], len(self.mart.rows))


def doubtful(do: Callable[[Served, Any], object]) -> Callable[[Served, Any], None]:
    """A step after which it is not certain any more what changed."""

    def step(served: Served, value: Any) -> None:
        do(served, value)
        served.is_certain = False

    return step


def change_columns(served: Served, rows: Rows) -> None:
    served.mart.more = (*served.mart.more, f"more_{len(served.mart.more)}")
    served.mart.change(rows)


def lose_a_row(served: Served, _: object) -> None:
    if served.rows():
        served.place.query(f"DELETE FROM {MART} WHERE rowid = (SELECT MIN(rowid) FROM {MART})")


def drop(served: Served, _: object) -> None:
    served.place.query(f"DROP TABLE IF EXISTS {MART}")


def serve(served: Served, _: object) -> None:
    """A run; what it writes is what was touched since the last one, when that is certain."""
    states, at = served.mart.states, served.served_at()
    done = served.run()
    if not done.outcome.is_committed:
        return
    served.assert_newest()
    if served.is_certain:
        of_run = [states[each] for each in sorted(states) if each >= at]
        touched = {key for one, two in pairwise(of_run) for key in {*one, *two} if one.get(key) != two.get(key)}
        went = {key for key in touched if key in of_run[0] and key not in of_run[-1]}
        counted = (done.outcome.rows, done.deleted, done.why_all)
        assert counted == (len(touched & {*of_run[-1]}), len(went), "")
    served.is_certain = True


def fail(served: Served, after: int) -> None:
    """A run whose reading fails: what dashboards see is what it was."""
    mart, before = served.mart, served.rows()
    try:
        done = served.run(lambda _, at: MadeRows(mart=mart, rows=mart.states[at], fails_after=after))
        served.is_certain = served.is_certain or done.outcome.is_committed
    except OSError:
        assert served.rows() == before


def come_late(served: Served, _: object) -> None:
    """A run that looked at the timeline before the newest commit was there, and goes on after it."""
    if put_back := served.mart.hidden_newest():
        is_back: list[bool] = []

        def read(timeline: Timeline, at: Instant) -> MartRows:
            rows = served.mart.read(timeline, at)
            put_back()
            is_back.append(True)
            return rows

        before = served.served_at()
        served.run(read)
        if not is_back:
            put_back()
        assert served.served_at() >= before or before not in served.mart.states, "a late run went back in time"


def serve_and_come_late(served: Served, _: object) -> None:
    serve(served, None)
    come_late(served, None)


Step = tuple[Callable[[Served, Any], None], Any]
ROW = st.tuples(st.sampled_from("xy"), st.integers(0, 3))
ROWS = st.dictionaries(st.sampled_from(KEYS), ROW)
FEW = st.integers(0, 4)
_NOTHING: st.SearchStrategy[Any] = st.none()


def step(do: Callable[[Served, Any], None], value: st.SearchStrategy[Any] = _NOTHING) -> st.SearchStrategy[Step]:
    return st.tuples(st.just(do), value)


def change_one(served: Served, one: tuple[str, tuple[str, int] | None]) -> None:
    others = {key: row for key, row in served.mart.rows.items() if key != one[0]}
    served.mart.change({**others, one[0]: one[1]} if one[1] else others)


CHANGE = st.one_of(
    *[step(change_one, st.tuples(st.sampled_from(KEYS), st.none() | ROW))] * 4,
    step(lambda served, rows: served.mart.change(rows), ROWS),
)
SERVICE = step(lambda served, _: served.mart.serve_table())
DOUBTFUL = st.one_of(
    step(doubtful(lambda served, rows: served.mart.change(rows, is_fed=False)), ROWS),
    step(doubtful(lambda served, rows: served.mart.rewrite(rows)), ROWS),
    step(doubtful(lambda served, back: served.mart.restore(back)), FEW),
    step(doubtful(lambda served, kept: served.mart.archive(kept)), FEW),
    step(doubtful(change_columns), ROWS),
    *[step(doubtful(lose_a_row))] * 3,
    step(doubtful(drop)),
)
RUN = st.one_of(*[step(serve)] * 3, step(fail, FEW), step(come_late), step(serve_and_come_late))
STEPS = st.one_of(CHANGE, CHANGE, CHANGE, SERVICE, DOUBTFUL)
ROUNDS = st.lists(st.tuples(st.lists(STEPS, min_size=1, max_size=5), RUN), min_size=4, max_size=6)


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(first=ROWS, rounds=ROUNDS)
def test_after_any_history_the_store_has_the_newest_rows(tmp_path_factory, spec, first, rounds):
    served = Served.new(tmp_path_factory.mktemp("history"), spec)
    served.mart.change(first)
    serve(served, None)
    for steps, (run, value) in rounds:
        for do, given_ in steps:
            do(served, given_)
        run(served, value)
    served.mart.change({**served.mart.rows, "new": ("z", len(served.mart.states))})
    serve(served, None)
    served.assert_newest()
    again = served.run()
    assert (again.outcome.is_committed, again.outcome.rows, again.deleted) == (False, 0, 0)


def many(count: int) -> Rows:
    return {f"{number}": ("x", number) for number in range(count)}


@pytest.fixture
def served(tmp_path: Path, spec: LakeSpec) -> Served:
    """A mart of a thousand rows that is served."""
    served = Served.new(tmp_path, spec)
    served.mart.change(many(1000))
    assert served.run().outcome.rows == 1000
    return served


def test_three_changes_among_a_thousand_rows_write_three(served: Served):
    changed = {**many(1000), "7": ("x", -1), "8": ("y", 8), "new": ("x", 0)}
    served.mart.change(changed)
    del changed["9"]
    served.mart.change(changed)
    served.place.query("CREATE TABLE touched (what TEXT)")
    for what in ("INSERT", "UPDATE", "DELETE"):
        sql = f"CREATE TRIGGER of_{what} AFTER {what} ON {MART} BEGIN INSERT INTO touched VALUES ('{what}'); END"
        served.place.query(sql)
    done = served.run()
    assert (done.outcome.rows, done.deleted, done.why_all) == (3, 1, "")
    touched = sorted(what for (what,) in served.place.query("SELECT what FROM touched"))
    assert touched == ["DELETE", "INSERT", "UPDATE", "UPDATE"]
    served.assert_newest()


def test_changes_that_undo_each_other_write_nothing_new(served: Served):
    served.mart.change({**many(1000), "new": ("x", 1)})
    served.mart.change(many(1000))
    done = served.run()
    assert (done.outcome.rows, done.deleted, done.outcome.is_committed, done.why_all) == (0, 0, True, "")
    served.assert_newest()


def whole(served: Served) -> str:
    """Serve it once more, all of it; gives why."""
    done = served.run()
    assert (done.outcome.rows, done.deleted) == (len(served.mart.rows), 0)
    served.assert_newest()
    return done.why_all


def test_what_is_not_certain_is_replaced_and_says_why(served: Served):
    served.mart.rewrite(many(900))
    assert whole(served).startswith("it was rewritten at ")
    served.mart.change(many(901), is_fed=False)
    assert whole(served) == "a commit since then kept no changes"
    served.mart.change(many(902))
    served.place.query(f"DELETE FROM {MART} WHERE amount > 800")
    assert whole(served) == "its table in the store has 802 rows and not 902"
    served.mart.more = ("more",)
    served.mart.change(many(903))
    assert whole(served) == "its columns changed"
    served.mart.change(many(904))
    served.run()
    served.mart.restore(1)
    assert whole(served).endswith(", which was served, is not on its timeline any more")
    served.mart.change(many(905))
    served.mart.change(many(906))
    served.mart.archive(1)
    assert whole(served).endswith(", which was served, is not on its timeline any more")


def test_a_store_of_an_earlier_release_is_replaced_at_once(served: Served):
    """Its table has no key, and the instant in every row; nothing is new in the mart."""
    served.place.query(f"DROP TABLE {MART}")
    served.place.query(f"CREATE TABLE {MART} (part TEXT, amount BIGINT, true_for VARCHAR(17), true_at DATETIME)")
    served.place.query(f"INSERT INTO {MART} SELECT 'x', 1, instant, true_at FROM served_marts")
    assert whole(served) == "its table in the store is of an earlier release"
    columns = [row[1] for row in served.place.query(f"PRAGMA table_info({MART})")]
    assert columns == ["part", "amount", "row__key"]
    served.mart.change(many(1001))
    assert (served.run().outcome.rows, served.rows()[-1]) == (1, ("x", 1000))


def test_a_state_that_a_writer_may_still_come_before_is_not_served(served: Served):
    """A commit begun before the newest one and not ended: what it changes would never be pulled."""
    served.mart.change(many(1001))
    (newest,) = [write.time for write in served.mart.timeline.writes][-1:]
    earlier = f"{int(newest) - 1:017d}"
    (served.mart.hoodie / f"{earlier}.inflight").touch()
    assert not served.run().outcome.is_committed
    (served.mart.hoodie / f"{earlier}.inflight").unlink()
    assert served.run().outcome.rows == 1
