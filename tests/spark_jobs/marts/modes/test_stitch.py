"""The stitch layer in the cases that are easy to get wrong: the cut, the cache, the calendar.

Every story is about sales signed by agents 5 and 6. Whatever happens, `stitch_agent_contracts` must be what the oracle
makes of the sales table at the clock.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from spark_jobs.contracts.arguments import Interval
from spark_jobs.contracts.instants import NO_INSTANT
from spark_jobs.contracts.job_errors import DefinitionChangedError
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.marts.undo import metadata_at
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.layouts import mart_layout
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit
from spark_jobs.transforms.cells import CELL_DELETED
from tests.support.envelopes import line, sqlserver
from tests.support.lakes import Lake
from tests.support.mart_checks import assert_stitch_is_right
from tests.support.mart_lakes import cells, make_mart_lake, take_commits_away

pytestmark = pytest.mark.hudi

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def sale(number: int, position: int, op: str = "u", *, signed: datetime | None = None, **columns: object) -> bytes:
    """A change of a sale; ``signed`` is the signing date."""
    row = {"SaleId": number, "StatusId": 8, **columns}
    if signed:
        row["ContractSigningDate"] = int(signed.timestamp() * 1000)
    return line(sqlserver(op, row, position))


def deal(number: int, position: int, agent: int, amount: str, signed: datetime = NOON - DAY) -> bytes:
    return sale(number, position, signed=signed, AgentId=agent, ContractSubtotal=amount)


class Story:
    """A lake that gets changes, round by round."""

    def __init__(self, lake: Lake, zone: str = "UTC") -> None:
        self.lake, self.zone, self.round = lake, zone, 0

    def deliver(self, lines: Iterable[bytes]) -> None:
        self.round += 1
        self.lake.land(f"{self.round}.jsonl", lines)
        self.lake.run("ingest")
        self.lake.run("split")

    def stitch(self, clock: datetime = NOON, **options: Any) -> tuple[str, ...]:
        """Run the layer, check the answer, give the run's messages."""
        result = self.lake.run("mart", clock=clock, layer="stitch", **options)
        assert_stitch_is_right(self.lake, clock, self.zone)
        return result.messages

    def answer(self) -> dict[int, tuple[int, Decimal]]:
        rows = cells(self.lake, "stitch_agent_contracts", "agent_id")
        return {agent: (row["contracts"], row["contract_total"]) for agent, row in rows.items()}

    def spec(self) -> LakeSpec:
        return load_lake_spec(self.lake.settings.lake_spec)

    def timeline(self, table: str) -> Timeline:
        return Timeline(table=table, path=self.lake.path(table))


@pytest.fixture
def story(spark, tmp_path) -> Story:
    return Story(make_mart_lake(spark, tmp_path, layers=("stitch",)))


def tamper_with_cells(story: Story, *, agent: int) -> None:
    """Another number of contracts in an agent's cells, in a commit with the metadata of the last one."""
    timeline, mart = story.timeline("stitch_agent_days"), story.spec().mart("stitch_agent_days")
    cells_df = read_snapshot(story.lake.spark, timeline.path).where(F.col("agent_id") == agent)
    wrong_df = cells_df.withColumn("contracts", F.col("contracts") + 1).withColumn(CELL_DELETED, F.lit(False))
    metadata = metadata_at(timeline, timeline.last or NO_INSTANT)
    commit(wrong_df, mart_layout(mart), metadata=metadata, settings=story.lake.settings)


@pytest.mark.slice(name="laws-marts")
def test_what_is_at_the_cut_counts_once(story):
    story.deliver([deal(1, 1, 5, "100.0001"), deal(2, 2, 6, "50.0000")])
    story.stitch()
    story.deliver([deal(1, 11, 5, "70.0000")])
    story.stitch(move_cut=True)
    cut = story.timeline("stitch_agent_days").newest_metadata("lakehouse.checkpoint.sales")
    assert cut == story.timeline("sales").last
    before = story.lake.instants()
    story.stitch(move_cut=True)
    assert story.lake.instants() == before
    story.deliver([deal(1, 21, 6, "70.0000"), deal(3, 22, 6, "0.0001")])
    story.stitch()
    assert story.answer() == {6: (3, Decimal("120.0001"))}
    story.stitch(move_cut=True)
    assert story.answer() == {6: (3, Decimal("120.0001"))}


def test_an_increment_that_changes_no_deal_makes_no_commit(story):
    story.deliver([deal(1, 1, 5, "100.0000")])
    story.stitch()
    story.deliver([sale(1, 11, UnitId=7), sale(2, 12, AgentId=5)])
    before = story.lake.instants()["stitch_agent_contracts"]
    story.stitch()
    assert story.lake.instants()["stitch_agent_contracts"] == before
    assert story.lake.run("mart", clock=NOON, layer="stitch").status == "nothing_to_do"


def test_moves_corrections_and_deletes_leave_the_old_cell(story):
    """Beside cells that nothing touches: the window's first days, and those before it in the same month."""
    edges = [deal(d, d, 5 + d % 2, f"{d}.0000", NOON - d * DAY) for d in range(363, 369)]
    story.deliver([*(deal(n, n, 5 + n % 2, f"{n}.5000") for n in range(1, 9)), *edges])
    story.stitch()
    story.deliver(
        [
            deal(1, 11, 5, "1000.0000"),
            sale(2, 12, AgentId=6),
            sale(3, 13, signed=NOON - 400 * DAY),
            sale(4, 14, "d"),
            sale(5, 15, "d"),
            deal(5, 16, 6, "-5.0000"),
        ]
    )
    story.stitch()
    story.deliver([sale(3, 23, signed=NOON - 3 * DAY), sale(1, 24, "d")])
    story.stitch(move_cut=True)


@pytest.mark.slice(name="laws-marts")
def test_an_agent_with_only_negative_corrections(story):
    story.deliver([deal(1, 1, 5, "-10.0000"), deal(2, 2, 5, "-0.0001")])
    story.stitch()
    story.deliver([deal(2, 12, 5, "-99999999999999.9999")])
    story.stitch()
    assert story.answer() == {5: (2, Decimal("-100000000000009.9999"))}


@pytest.mark.slice(name="laws-marts")
def test_the_calendar_of_leap_years(story):
    days = [datetime(*day, 12, tzinfo=UTC) for day in ((2023, 2, 28), (2023, 3, 1), (2024, 2, 28), (2024, 2, 29))]
    story.deliver([deal(n, n, 5, f"1{'0' * n}.0000", signed=day) for n, day in enumerate(days, start=1)])
    expected = {
        datetime(2024, 2, 28, 23, tzinfo=UTC): 2,  # 1 March 2023 to 28 February 2024
        datetime(2024, 2, 29, 1, tzinfo=UTC): 3,  # 1 March 2023 to 29 February 2024
        datetime(2024, 3, 1, 1, tzinfo=UTC): 2,  # 2 March 2023 to 1 March 2024
        datetime(2025, 2, 27, 23, tzinfo=UTC): 2,  # 28 February 2024 to 27 February 2025
        datetime(2025, 2, 28, 1, tzinfo=UTC): 1,  # 29 February 2024 to 28 February 2025
        datetime(2025, 3, 1, 1, tzinfo=UTC): 0,
    }
    for clock, contracts in expected.items():
        story.stitch(clock)
        assert story.answer().get(5, (0,))[0] == contracts, clock


def test_days_are_the_companys_also_when_its_offset_changes(spark, tmp_path):
    story = Story(make_mart_lake(spark, tmp_path, time_zone="Europe/Paris", layers=("stitch",)), "Europe/Paris")
    moments = [datetime(2025, 3, 29, 22, 59, tzinfo=UTC) + timedelta(minutes=30 * n) for n in range(60)]
    story.deliver([deal(n, n, 5, f"{n}.0000", signed=moment) for n, moment in enumerate(moments, start=1)])
    for clock in (datetime(2026, 3, 29, 21, 59, tzinfo=UTC), datetime(2026, 3, 29, 22, 1, tzinfo=UTC)):
        story.stitch(clock)
    days = {day for _, day in cells(story.lake, "stitch_agent_days", "agent_id", "day")}
    assert days == {"2025-03-29", "2025-03-30", "2025-03-31"}


def test_a_clock_that_moves_alone_lets_days_fall_off(story):
    story.deliver([deal(n, n, 5, "1.0000", signed=NOON - (366 - n) * DAY) for n in range(1, 4)])
    for days in range(4):
        story.stitch(NOON + days * DAY)


@pytest.mark.slice(name="laws-marts")
def test_a_cache_that_was_tampered_with_is_rebuilt(story):
    story.deliver([deal(1, 1, 5, "100.0000"), deal(2, 2, 6, "1.0000", signed=NOON - 40 * DAY)])
    story.stitch()
    tamper_with_cells(story, agent=5)
    story.deliver([deal(3, 13, 6, "5.0000")])
    assert story.stitch() == ("stitch_agent_days: full refresh because its cells are not what was committed",)
    assert story.stitch() == ()


@pytest.mark.slice(name="laws-marts")
def test_a_cache_whose_file_was_changed_in_place_is_rebuilt(story):
    story.deliver([deal(1, 1, 5, "100.0000"), deal(2, 2, 6, "1.0000")])
    story.stitch()
    (file,) = Path(story.lake.path("stitch_agent_days")).glob("*/*.parquet")
    rows = pq.ParquetFile(file).read()
    place = rows.schema.get_field_index("contract_total")
    changed = pa.array([3 * total for total in rows["contract_total"].to_pylist()], rows.schema.field(place).type)
    pq.write_table(rows.set_column(place, rows.schema.field(place), changed), file)
    file.with_name(f".{file.name}.crc").unlink()
    story.deliver([deal(3, 13, 6, "5.0000")])
    assert story.stitch() == ("stitch_agent_days: full refresh because its cells are not what was committed",)
    assert story.stitch() == ()


def test_a_backfill_finds_cells_that_are_wrong_although_their_checksum_is_right(story):
    old = NOON - 700 * DAY
    story.deliver([deal(1, 1, 5, "100.0000"), deal(2, 2, 6, "1.0000", signed=old)])
    story.stitch()
    before = story.lake.instants()
    days = [Interval(start=day, end=day + DAY) for day in (old.replace(hour=0), NOON.replace(hour=0))]
    for interval in days:
        assert story.stitch(interval=interval) == ()
    assert story.lake.instants() == before
    tamper_with_cells(story, agent=6)
    assert story.stitch() == ()  # these cells are outside the year
    assert "full refresh" in story.stitch(interval=days[0])[0]
    assert story.stitch(interval=days[0]) == ()


@pytest.mark.slice(name="laws-marts")
def test_a_changed_definition_of_the_cache_blocks_its_mart_until_it_is_applied(story):
    story.deliver([deal(1, 1, 5, "100.0000"), deal(2, 2, 6, "1.0000")])
    story.stitch()
    sql = story.lake.folder / "marts" / "stitch_agent_days.sql"
    sql.write_text(sql.read_text().replace("IS NOT NULL", "IS NOT NULL AND agent_id <> 6"))
    before = story.answer()
    with pytest.raises(DefinitionChangedError, match="stitch_agent_days: sql changed"):
        story.lake.run("mart", clock=NOON, layer="stitch")
    assert story.answer() == before
    plan = str(story.lake.folder / "plan.yaml")
    story.lake.run("plan", clock=NOON, output=plan)
    found = story.lake.run("preview", clock=NOON, plan=plan, samples=5).findings["stitch_agent_days"]
    assert (found["rows_now"], found["rows_then"], found["gone"]) == (2, 1, 1)
    applied = story.lake.run("apply", clock=NOON, plan=plan)
    assert "stitch_agent_days: full refresh because its definition changed" in applied.messages
    assert story.answer() == {5: (1, Decimal("100.0000"))}
    story.lake.run("undo", clock=NOON, plan=plan, yes=True)
    assert story.answer() == before


@pytest.mark.slice(name="laws-marts")
def test_a_cut_that_a_restore_took_away(story):
    story.deliver([deal(1, 1, 5, "100.0000")])
    story.stitch()
    story.deliver([deal(1, 11, 5, "200.0000"), deal(2, 12, 6, "1.0000")])
    story.stitch(move_cut=True)
    take_commits_away(story.lake, "sales", 1)
    messages = story.stitch()
    assert "is not on the timeline of sales" in messages[0]
    assert story.answer() == {5: (1, Decimal("100.0000"))}
    story.lake.run("split")
    story.stitch()
    assert story.answer() == {5: (1, Decimal("200.0000")), 6: (1, Decimal("1.0000"))}


@pytest.mark.slice(name="laws-marts")
def test_a_cut_moves_no_further_than_a_commit_that_is_not_finished(story):
    story.deliver([deal(1, 1, 5, "100.0000")])
    story.stitch()
    story.deliver([deal(1, 11, 5, "200.0000")])
    story.deliver([deal(2, 21, 6, "1.0000")])
    writes = story.timeline("sales").writes
    hidden = Path(story.lake.path("sales")) / ".hoodie" / writes[-1].file_name
    hidden.rename(hidden.with_suffix(".away"))
    story.stitch(move_cut=True)
    assert story.answer() == {5: (1, Decimal("200.0000"))}
    cut = story.timeline("stitch_agent_days").newest_metadata("lakehouse.checkpoint.sales")
    assert cut == writes[-2].time
    hidden.with_suffix(".away").rename(hidden)
    story.stitch()
    assert story.answer() == {5: (1, Decimal("200.0000")), 6: (1, Decimal("1.0000"))}


@pytest.mark.slice(name="laws-marts")
def test_the_cut_moves_by_itself_when_many_commits_came_after_it(story):
    declared = story.lake.folder / "marts" / "stitch_agent_contracts.yaml"
    declared.write_text(declared.read_text() + "max_commits_after_cut: 1\n")
    cuts = []
    for number in range(1, 5):
        story.deliver([deal(number, number, 5, "1.0000")])
        story.stitch()
        cuts.append(story.timeline("stitch_agent_days").newest_metadata("lakehouse.checkpoint.sales"))
    assert cuts[0] == cuts[1]
    assert cuts[2] == cuts[3] == story.timeline("sales").writes[2].time
