"""Which services are due, of tables made by hand (tests/support/made_tables.py); the clock is far after them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spark_jobs.contracts.errors import TableVersionError
from spark_jobs.lake_spec.services import Service, ServiceTargets
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.storage.consumers import ConsumerState
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.services.due import find_needs
from spark_jobs.storage.services.kind import Need
from tests.support.made_tables import MadeTable, at

KEYED = TableLayout(name="units", record_key="id", form=StorageForm.KEYED, type=TableType.MERGE_ON_READ)
COPIED = TableLayout(name="units", record_key="id", form=StorageForm.KEYED, type=TableType.COPY_ON_WRITE)
LOG = TableLayout(name="events", record_key="id", form=StorageForm.APPENDED, partition="day")
TARGETS = ServiceTargets(
    compact_log_files=3,
    compact_minutes=None,
    cluster_small_files=3,
    small_file_mb=1,
    keep_commits=2,
    clean_files=2,
    archive_commits=6,
)
CLOCK = datetime(2026, 1, 1, tzinfo=UTC)
MB = 1024 * 1024


def needs_of(
    table: MadeTable, consumers: Mapping[str, ConsumerState] | None = None, targets: ServiceTargets = TARGETS
) -> dict[Service, Need]:
    return {need.service: need for need in find_needs(table.look(), consumers or {}, targets, CLOCK).needs}


def reader(table: str, place: int) -> ConsumerState:
    return ConsumerState(checkpoints={table: at(place)})


def test_a_table_without_a_commit_needs_nothing(tmp_path: Path):
    assert find_needs(MadeTable(KEYED, tmp_path / "t").look(), {}, TARGETS, CLOCK).needs == ()


def test_services_that_a_table_can_have_in_their_order(tmp_path: Path):
    found = {
        layout: [*needs_of(MadeTable(layout, tmp_path / str(n)).commits(1))]
        for n, layout in enumerate((KEYED, COPIED, LOG))
    }
    assert found == {
        KEYED: [Service.RESCALE, Service.COMPACTION, Service.CLEAN, Service.ARCHIVE],
        COPIED: [Service.RESCALE, Service.CLEAN, Service.ARCHIVE],
        LOG: [Service.CLUSTERING, Service.CLEAN, Service.ARCHIVE],
    }


@pytest.mark.parametrize(
    ("declared", "made_with", "largest_mb", "wanted"),
    [(1, 1, 1, 1), (1, 1, 2, 2), (1, 1, 7, 8), (3, 3, 4, 6), (1, 4, 5, 8), (6, 4, 1, 6), (1, 4, 3, 4), (1, 4, 1, 1)],
)
def test_rescale_is_due_by_the_size_of_buckets_or_when_more_are_declared(
    tmp_path: Path, declared: int, made_with: int, largest_mb: int, wanted: int
):
    """A file of the size and one byte over: it takes the next doubling. Replaced and unfinished files do not count."""
    layout = replace(KEYED, buckets=declared)
    kept = {"lakehouse.buckets": str(made_with)}
    table = MadeTable(layout, tmp_path / "t").commits(1, 2, extraMetadata=kept)
    table.commits(3, action="replacecommit", extraMetadata=kept, partitionToReplaceFileIds={"": ["gone"]})
    table.base("gone", 1, size=50 * MB).base("a", 9, size=50 * MB).base("b", 2, partition="p", size=MB // 2)
    table.base("a", 1, size=50 * MB).base("a", 2, size=(largest_mb - 1) * MB).logs("a", 2, 1, size=MB // 2 + 1)
    need = needs_of(table, targets=replace(TARGETS, bucket_mb=1))[Service.RESCALE]
    assert (need.is_due, need.buckets) == (wanted > made_with, wanted)


@pytest.mark.parametrize(
    ("layout", "action", "text", "service"),
    [(KEYED, "compaction", "", Service.COMPACTION), (LOG, "replacecommit", "..CLUSTER..", Service.CLUSTERING)],
)
def test_a_plan_that_was_not_carried_out_is_due(
    tmp_path: Path, layout: TableLayout, action: str, text: str, service: Service
):
    need = needs_of(MadeTable(layout, tmp_path / "t").commits(1).pending(2, action, text))[service]
    assert (need.is_due, need.why) == (True, f"planned at {at(2)} and not finished")


def test_clustering_is_due_by_the_small_files_of_one_partition(tmp_path: Path):
    table = MadeTable(LOG, tmp_path / "t").commits(1, action="commit")
    for number in range(4):
        table.base(f"a{number}", 1, partition=f"day={number % 2}")
        table.base(f"large{number}", 1, partition="day=0", size=MB)
    assert not needs_of(table)[Service.CLUSTERING].is_due
    table.base("a9", 9, partition="day=0")  # of a commit that never ended
    assert not needs_of(table)[Service.CLUSTERING].is_due
    need = needs_of(table.base("a4", 1, partition="day=0"))[Service.CLUSTERING]
    assert (need.is_due, need.why) == (True, "3 of 3 small files in a partition")


def test_files_that_were_clustered_are_small_no_more(tmp_path: Path):
    table = MadeTable(LOG, tmp_path / "t").commits(1, action="commit")
    for number in range(4):
        table.base(f"a{number}", 1, partition="day=0")
    ids = {"day=0": ["a0", "a1", "a2", "a3"]}
    table.commits(2, action="replacecommit", operationType="CLUSTER", partitionToReplaceFileIds=ids)
    table.base("b", 2, partition="day=0")
    assert needs_of(table)[Service.CLUSTERING].why == "1 of 3 small files in a partition"


def test_clean_takes_what_no_kept_state_needs(tmp_path: Path):
    """Commits 1 to 5, each with a new base file: kept are 4 and 5, and the state that 4 began from."""
    table = MadeTable(COPIED, tmp_path / "t").commits(1, 2, 3, 4, 5, action="commit")
    for number in range(1, 6):
        table.base("a", number)
    need = needs_of(table)[Service.CLEAN]
    assert (need.is_due, need.keep_commits) == (True, 2)
    assert need.why == f"2 of 2 files can go (0.0 MB); states since {at(4)} stay for keep_commits"


def test_a_clean_that_was_cut_off_is_due_though_all_its_files_are_gone(tmp_path: Path):
    table = MadeTable(COPIED, tmp_path / "t").commits(1, 2, 3, action="commit").base("a", 3)
    assert not needs_of(table)[Service.CLEAN].is_due
    need = needs_of(table.pending(4, "clean"))[Service.CLEAN]
    assert need.is_due
    assert need.why.startswith(f"begun at {at(4)} and not finished; 0 of 2 files can go")


@pytest.mark.parametrize(("place", "files", "keep"), [(1, 0, 5), (2, 0, 4), (3, 1, 3), (4, 2, 2), (5, 2, 2)])
def test_clean_never_passes_the_slowest_consumer(tmp_path: Path, place: int, files: int, keep: int):
    table = MadeTable(COPIED, tmp_path / "t").commits(1, 2, 3, 4, 5, action="commit")
    for number in range(1, 6):
        table.base("a", number)
    consumers = {"slow": reader("units", place), "quick": reader("units", 5), "other": reader("agents", 1)}
    need = needs_of(table, consumers)[Service.CLEAN]
    assert need.why.startswith(f"{files} of 2 files")
    assert need.keep_commits == keep


def test_files_of_a_commit_that_is_partly_read_stay(tmp_path: Path):
    """Two readers that have read nothing else: the first commit's files were clustered in the second."""
    table = MadeTable(LOG, tmp_path / "t").commits(1, 3, 4, action="commit").base("a", 1, partition="day=0")
    ids = {"day=0": ["a"]}
    table.commits(2, action="replacecommit", operationType="CLUSTER", partitionToReplaceFileIds=ids)
    within = ConsumerState(checkpoints={"events": f"{at(0)}/{at(1)}/3/0123456789ab"})
    found = find_needs(table.look(), {"split": within}, TARGETS, CLOCK)
    clean = next(need for need in found.needs if need.service is Service.CLEAN)
    assert clean.why == f"0 of 2 files can go (0.0 MB); states since {at(1)} stay for consumer split"
    assert not any("lost its place" in warning for warning in found.warnings)


def test_clean_never_passes_a_savepoint(tmp_path: Path):
    table = MadeTable(COPIED, tmp_path / "t").commits(1, 2, 3, 4, 5, action="commit").commits(3, action="savepoint")
    for number in range(1, 6):
        table.base("a", number)
    need = needs_of(table)[Service.CLEAN]
    assert (need.keep_commits, need.why) == (
        3,
        f"1 of 2 files can go (0.0 MB); states since {at(3)} stay for savepoint {at(3)}",
    )


def test_a_replaced_group_goes_once_the_commit_before_which_it_was_replaced_does(tmp_path: Path):
    table = MadeTable(LOG, tmp_path / "t").commits(1, 3, 4, action="commit").base("a", 1, partition="day=0")
    ids = {"day=0": ["a"]}
    table.commits(2, action="replacecommit", operationType="CLUSTER", partitionToReplaceFileIds=ids)
    assert needs_of(table)[Service.CLEAN].why.startswith("1 of 2")
    assert needs_of(table, {"slow": reader("events", 2)})[Service.CLEAN].why.startswith("0 of 2")


def test_states_younger_than_the_hours_to_keep_stay(tmp_path: Path):
    table = MadeTable(COPIED, tmp_path / "t")
    for hour in (1, 2, 3, 4):
        name = f"202601010{hour}0000000"
        (tmp_path / "t/.hoodie" / f"{name}.commit").write_text("{}")
    clock = datetime(2026, 1, 1, 5, tzinfo=UTC)
    targets = ServiceTargets(keep_commits=1, keep_hours=2)
    need = {n.service: n for n in find_needs(table.look(), {}, targets, clock).needs}[Service.CLEAN]
    assert need.why.endswith("states since 20260101030000000 stay for keep_hours")


def test_archive_is_due_by_the_length_of_the_timeline(tmp_path: Path):
    table = MadeTable(COPIED, tmp_path / "t").commits(*range(1, 7), action="commit")
    assert not needs_of(table)[Service.ARCHIVE].is_due
    need = needs_of(table.commits(7, action="commit"))[Service.ARCHIVE]
    assert (need.is_due, need.keep_commits) == (True, 3)


@pytest.mark.parametrize(("place", "keep", "is_due"), [(1, 7, False), (2, 6, True), (6, 3, True)])
def test_archive_never_passes_the_slowest_consumer(tmp_path: Path, place: int, keep: int, is_due: bool):
    table = MadeTable(COPIED, tmp_path / "t").commits(*range(1, 8), action="commit")
    need = needs_of(table, {"slow": reader("units", place)})[Service.ARCHIVE]
    assert (need.is_due, need.keep_commits) == (is_due, keep)


def test_the_archive_passes_the_last_commit_that_kept_changes(tmp_path: Path):
    """A mart that is served no more keeps none: of one commit, like the name of its folder, they are no knowledge."""
    of_feed = {"lakehouse.changes": "folder", "lakehouse.changes_columns": "packed"}
    table = MadeTable(COPIED, tmp_path / "t").commits(1, 2, action="commit", extraMetadata=of_feed)
    table.commits(*range(3, 9), action="commit", extraMetadata={"lakehouse.clock": "now"})
    assert needs_of(table)[Service.ARCHIVE].keep_commits == TARGETS.archive_commits // 2


def test_archive_keeps_the_commit_that_knows_something_no_later_one_says(tmp_path: Path):
    table = MadeTable(COPIED, tmp_path / "t")
    table.commits(*range(1, 8), action="commit", extraMetadata={"lakehouse.run": "x", "schema": "y"})
    table.commits(2, action="commit", extraMetadata={"lakehouse.checkpoint.log": "z"})
    assert needs_of(table)[Service.ARCHIVE].keep_commits == 6


def test_a_consumer_that_holds_a_long_past_or_lost_its_place_is_named(tmp_path: Path):
    table = MadeTable(COPIED, tmp_path / "t").commits(*range(11, 18), action="commit")
    consumers = {"slow": reader("units", 12), "gone": reader("units", 3)}
    lost, behind = find_needs(table.look(), consumers, TARGETS, CLOCK).warnings
    assert lost == "units: consumer gone has lost its place on the timeline and will read the whole table"
    assert behind.startswith(
        "units: consumer slow is 6 commits behind, and nothing newer than its place can be cleaned"
    )
    assert find_needs(table.look(), {"quick": reader("units", 16)}, TARGETS, CLOCK).warnings == ()


@pytest.mark.parametrize("version", ["5", "8", ""])
def test_a_table_of_another_version_is_not_served(tmp_path: Path, version: str):
    table = MadeTable(KEYED, tmp_path / "t").commits(1)
    (tmp_path / "t/.hoodie/hoodie.properties").write_text(f"hoodie.table.version={version}\n")
    with pytest.raises(TableVersionError):
        table.look()


def test_a_plan_of_one_service_makes_no_other_due(tmp_path: Path):
    """Hudi plans a clustering of any table, and the log may have been compacted by another writer."""
    text = "..CLUSTER.."
    keyed = needs_of(MadeTable(KEYED, tmp_path / "a").commits(1).pending(2, "replacecommit", text))
    log = needs_of(MadeTable(LOG, tmp_path / "b").commits(1).pending(2, "compaction"))
    assert (keyed[Service.COMPACTION].is_due, log[Service.CLUSTERING].is_due) == (False, False)


@pytest.mark.parametrize(("place", "is_warned"), [(11, True), (14, True), (15, False), (17, False)])
def test_a_consumer_that_holds_more_than_half_of_a_timeline_is_a_warning(tmp_path: Path, place: int, is_warned: bool):
    """Of seven commits, where six are many; a savepoint that holds as much gives no warning."""
    table = MadeTable(COPIED, tmp_path / "t").commits(*range(11, 18), action="commit")
    assert bool(find_needs(table.look(), {"slow": reader("units", place)}, TARGETS, CLOCK).warnings) is is_warned
    table.commits(11, action="savepoint")
    assert find_needs(table.look(), {}, TARGETS, CLOCK).warnings == ()
