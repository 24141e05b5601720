"""The stitch layer: 10,000 new events against recomputing everything, and against other engines."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from pyspark.sql import DataFrame, SparkSession

from bench.arrivals import ROUND_EVENTS, clock_of, round_events
from bench.history import History
from bench.lake import SALES, HistoryLake, stage
from bench.mart_refreshers import Ours, OursInFull
from bench.refreshing import Refresher, compare_marts, run_refreshes
from bench.report import Growth, Race, Races
from bench.session import CORES
from bench.stitch_peers import AGENT_CONTRACTS, DeltaFeed, SqlOverLog, SqlOverSales
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec

LAYER = "stitch"
COLUMNS = {AGENT_CONTRACTS: ("agent_id", "contracts", "contract_total")}
AIMS = {10_000_000: 0.07, 30_000_000: 0.03}
"""Of an increment to everything, by the events of the history."""
MOST_IN_LOG, AIM_GROWTH = 10_000_000, 1.3

_METHOD = f"""\
A history of two years made of expressions: five events a sale, 2,000 agents, 50,000 units, a quarter of the sales
signed. In every round {ROUND_EVENTS:,} events come in: of twenty, eight are new sales (half of them signed today); of
the others, about old sales drawn from all, seven say another subtotal, two another agent, two another day of signing,
one deletes. They are committed to the log and folded into the tables of sales and units; then contracts and their total
per agent over the last year are brought up to date, as each contender keeps them. One process with one warm Spark
session on {CORES} cores; who begins changes from round to round; at the end all rows are compared.

* ours is the job `mart --layer stitch`, from its leases to the last commit read back. The cut stays where it was, so
  what came after it grows by a commit a round.
* mart --full is the same job recomputing cache and mart, in a lake with marts of its own over the same sales.
* SQL over the table of sales reads the snapshot of the same merge-on-read table, with the changes of all rounds not yet
  compacted, and writes Parquet.
* SQL over the log finds the newest values of every sale among its events, and writes Parquet.
* Delta merges the events into a table of sales of its own with change data feed on (no order is kept of any value, as
  if events always came in order); timed are reading the feed, MERGE into a table of agents' days, and the year's sum.

What computes over everything is given shuffles cut for that; the product and Delta's small merges have two. Histories
of more than {MOST_IN_LOG:,} events are there to see how ours grows: in them the log holds no more than the rounds'
events, so SQL over the log and Delta, whose tables are made of it, do not take part."""


def measure_stitch(
    spark: SparkSession, settings: Settings, folder: Path, *, sizes: Sequence[int], warm_ups: int, rounds: int
) -> Races:
    """Every size in a lake of its own, one after another in one session."""
    races = {}
    for events in sizes:
        home = folder / str(events)
        races[events] = _race(spark, settings, home, events, warm_ups, rounds)
        spark.catalog.clearCache()
        shutil.rmtree(home)
    return Races(
        title=f"Stitch layer, {ROUND_EVENTS:,} new events",
        method=_METHOD,
        races=tuple(races.values()),
        growth=Growth.between({events: median(race.seconds[Ours.name]) for events, race in races.items()}, AIM_GROWTH),
    )


def _race(spark: SparkSession, settings: Settings, folder: Path, events: int, warm_ups: int, rounds: int) -> Race:
    history = History(spec=load_lake_spec(settings.lake_spec), events=events)
    lake = HistoryLake(spark=spark, history=history, settings=replace(settings, base_path=str(folder / "lake")))
    is_whole = events <= MOST_IN_LOG
    lake.make(with_tables=True, with_log=is_whole)
    ours, over_sales = Ours(lake, LAYER), SqlOverSales(lake, str(folder))
    first = ours.compute_first(clock_of(-1))
    in_full = OursInFull(lake.copy(str(folder / "full"), SALES), LAYER)
    in_full.compute_first(clock_of(-1))
    refreshers: list[Refresher] = [ours, over_sales, in_full]
    if is_whole:
        with stage(f"{DeltaFeed.name}: writing its tables"):
            refreshers += [SqlOverLog(lake, str(folder)), DeltaFeed(lake, str(folder))]

    def take_in(events_df: DataFrame) -> None:
        lake.fold(events_df, lake.log_events(events_df))

    found = run_refreshes(
        spark,
        refreshers,
        events_of=lambda number: round_events(spark, history, number),
        take_in=take_in,
        warm_ups=warm_ups,
        rounds=rounds,
    )
    differing = compare_marts(refreshers, COLUMNS)
    with stage("moving the cut") as moving:
        lake.refresh(LAYER, clock_of(warm_ups + rounds), move_cut=True)
    if compare_marts((over_sales, ours), COLUMNS)[ours.name]:
        differing[ours.name] = [f"{AGENT_CONTRACTS} after the cut was moved"]
    return Race(
        title=f"{events:,} events",
        method="",
        subject=Ours.name,
        aims={OursInFull.name: AIMS[events]} if events in AIMS else {},
        rows_scale=1,
        warm_ups=warm_ups,
        seconds=found.refreshing,
        differing_tables=differing,
        notes=(
            found.intake,
            f"{first} Moving the cut over {warm_ups + rounds} rounds, and the mart with it: {moving['seconds']:.1f} s.",
        ),
    )
