"""Marts of a layer side by side: what waits for what, and what one mart's end does to the others.

The shipped slow layer is a chain with branches: paths, then four marts over them, then one over the milestones. How
rows come out is in the laws, where layers are refreshed by the same code on real tables.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from spark_jobs.contracts.clocks import MartAheadError
from spark_jobs.contracts.errors import TransientError
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.job_errors import DefinitionChangedError, GateStoppedError
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.marts import layer
from spark_jobs.marts.engine import Engine
from spark_jobs.marts.layer import LayerRefresh, waits_for
from spark_jobs.marts.refresh import RefreshRequest
from spark_jobs.spec_files.spec_file import load_lake_spec
from tests.support.contexts import context_of

SLOW: Mapping[str, set[str]] = {
    "slow_sale_paths": set(),
    "slow_agent_success": {"slow_sale_paths"},
    "slow_customer_demand": {"slow_sale_paths"},
    "slow_milestones": {"slow_sale_paths"},
    "slow_unit_difficulty": {"slow_sale_paths"},
    "slow_agent_performance": {"slow_milestones"},
}


def lake(name: str = "sales") -> LakeSpec:
    return load_lake_spec(str(PROJECT_ROOT / "include" / "lakes" / f"{name}.yaml"))


def marts_of(spec: LakeSpec, *layers: str) -> list[MartSpec]:
    return [mart for mart in spec.marts if mart.layer in layers and mart.name not in spec.caches]


def test_a_mart_waits_for_what_it_reads_and_for_nothing_else() -> None:
    assert waits_for(marts_of(lake(), "slow"), lake()) == SLOW
    assert waits_for(marts_of(lake(), "fast"), lake()) == {"fast_daily_deals": set(), "fast_hourly_events": set()}
    some = [mart for mart in marts_of(lake(), "slow") if mart.name in ("slow_agent_success", "slow_agent_performance")]
    assert waits_for(some, lake()) == {mart.name: set() for mart in some}, "what is not refreshed is not waited for"


def test_a_stitch_mart_waits_for_what_its_cache_reads() -> None:
    spec = lake()
    stitch, source = spec.mart("stitch_agent_contracts"), spec.mart("stitch_agent_days").reads[0].table
    before = replace(spec.mart("fast_hourly_events"), name=source)
    assert waits_for([before, stitch], spec) == {source: set(), stitch.name: {source}}


class Layer:
    """Refreshes that take a moment, and what happened when."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, ends: Mapping[str, Callable[[], Any]], *, threads: int) -> None:
        self.spans: dict[str, tuple[float, float]] = {}
        self._ends, self._rng = ends, random.Random(threads)
        self._lock, self._used = threading.Lock(), set[int]()
        monkeypatch.setattr(layer, "refresh_mart", self._refresh)
        context = context_of("mart", Settings(write_threads=threads), spark=session(), spec=lake(), layer="slow")
        self.run = LayerRefresh(context=context, request=RefreshRequest()).run

    def _refresh(self, engine: Engine, mart: MartSpec) -> list[TableOutcome]:
        with self._lock:
            assert id(engine.context.spark) not in self._used, "two refreshes at work in one session"
            self._used.add(id(engine.context.spark))
        begun = time.monotonic()
        time.sleep(self._rng.random() / 50)
        engine.messages.append(f"{mart.name} was refreshed")
        self.spans[mart.name] = (begun, time.monotonic())
        with self._lock:
            self._used.discard(id(engine.context.spark))
        if end := self._ends.get(mart.name):
            raise end()
        return [TableOutcome(table=mart.name, instant=Instant("1"), rows=1, is_committed=True)]


def session() -> Any:
    """What is needed of a session to open another one beside it."""
    conf = SimpleNamespace(get=lambda _name, default=None: default, set=lambda _name, _value: None)
    return SimpleNamespace(conf=conf, newSession=session)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_each_begins_when_those_that_it_waits_for_have_ended_in_a_session_of_its_own(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    made, marts = Layer(monkeypatch, {}, threads=threads), marts_of(lake(), "slow")
    refreshes = made.run(marts)
    for name, before in SLOW.items():
        assert all(made.spans[other][1] <= made.spans[name][0] for other in before), name
    assert [each.outcomes[0].table for each in refreshes] == [mart.name for mart in marts]
    assert [each.messages for each in refreshes] == [[f"{mart.name} was refreshed"] for mart in marts]


@pytest.mark.parametrize(
    "error",
    [
        GateStoppedError(stopped={"slow_sale_paths": ["rows broke it"]}),
        DefinitionChangedError(changed={"slow_sale_paths": ("its SQL",)}),
        MartAheadError(mart="slow_sale_paths", layer="slow", clock=context_of("mart", Settings(), layer="slow").clock),
    ],
    ids=lambda error: type(error).__name__,
)
def test_one_that_stays_as_it_is_keeps_no_other_from_being_refreshed(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    made = Layer(monkeypatch, {"slow_sale_paths": lambda: error}, threads=2)
    first, *others = made.run(marts_of(lake(), "slow"))
    assert (first.error, first.outcomes) == (error, ())
    assert first.messages == ["slow_sale_paths was refreshed"]
    assert [each.error for each in others] == [None] * 5


def test_after_any_other_error_no_further_mart_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Layer(monkeypatch, {"slow_milestones": lambda: TransientError("the store is away")}, threads=7)
    with pytest.raises(TransientError, match="the store is away"):
        made.run(marts_of(lake(), "slow"))
    assert "slow_agent_performance" not in made.spans
    made = Layer(monkeypatch, {"slow_sale_paths": lambda: TransientError("the store is away")}, threads=7)
    with pytest.raises(TransientError, match="the store is away"):
        made.run(marts_of(lake(), "slow"))
    assert {*made.spans} == {"slow_sale_paths"}
