"""Every mistake in a lake's files is reported with file, line and what to do, all of them at once.

Each case is the shipped lake with edits of tests/support/spec_mistakes.py, which say themselves where they are.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.errors import LakehouseError
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.lake_check import LakeCheck, check_lake
from spark_jobs.spec_files.spec_file import load_lake_spec
from tests.support.spec_mistakes import (
    IN_SQL,
    INDEPENDENT,
    OTHERS,
    OTHERS_IN_SQL,
    SALES,
    SPEC,
    Edit,
    copy_lake,
    edit,
    make_mistakes,
)

DEALS_SQL = "marts/fast_daily_deals.sql"
LINE = re.compile(r"(?P<file>[^:]+):(?P<line>[0-9]+): (?P<what>[^;]+(?:\(.*\)[^;]*)?); (?P<remedy>.*\S)")


def check(spec: Path) -> LakeCheck:
    """Of a lake that has its rules beside its specs."""
    return check_lake(spec, str(spec.parent.parent / "rules"))


def places_of(lines: tuple[str, ...]) -> list[tuple[str, int]]:
    """File and line of each, in the order in which they are reported; each has a remedy."""
    matches = [LINE.fullmatch(line) for line in lines]
    assert all(matches), lines
    return [(each["file"], int(each["line"])) for each in matches if each]


def test_the_shipped_lake_is_right():
    checked = check(Path(Settings().lake_spec))
    assert checked.mistakes == ()
    assert checked.spec == load_lake_spec(Settings().lake_spec)


@pytest.mark.parametrize("mistake", [*INDEPENDENT, *OTHERS], ids=lambda each: each.message[:40])
def test_a_mistake_is_reported_with_its_place_and_what_to_do(tmp_path: Path, mistake: Edit):
    expected = make_mistakes(copy_lake(tmp_path), [mistake])
    found = check(tmp_path / SPEC).mistakes
    assert places_of(found) == expected
    assert any(mistake.message in line for line in found)
    assert all(line.isprintable() for line in found)
    assert found[0].startswith(f"{expected[0][0]}:{expected[0][1]}: ")


@pytest.mark.parametrize(
    "mistake",
    [each for each in [*INDEPENDENT, *OTHERS] if each not in [*IN_SQL, *OTHERS_IN_SQL]],
    ids=lambda each: each.message[:40],
)
def test_a_lake_with_a_mistake_is_not_loaded(tmp_path: Path, mistake: Edit):
    make_mistakes(copy_lake(tmp_path), [mistake])
    with pytest.raises(LakehouseError) as caught:
        load_lake_spec(str(tmp_path / SPEC))
    assert mistake.message in str(caught.value)
    assert caught.value.exit_code == 2


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(INDEPENDENT), min_size=2, unique=True))
def test_any_number_of_mistakes_is_reported_at_once_and_nothing_else(mistakes: list[Edit]):
    with tempfile.TemporaryDirectory() as folder:
        expected = make_mistakes(copy_lake(Path(folder)), mistakes)
        found = check(Path(folder) / SPEC).mistakes
    assert places_of(found) == expected
    assert all(any(each.message in line for line in found) for each in mistakes)


def test_all_of_them_at_once(tmp_path: Path):
    expected = make_mistakes(copy_lake(tmp_path), INDEPENDENT)
    assert places_of(check(tmp_path / SPEC).mistakes) == expected
    with pytest.raises(LakehouseError, match=rf"\(and {len(INDEPENDENT) - len(IN_SQL) - 1} more\)"):
        load_lake_spec(str(tmp_path / SPEC))


def test_what_a_wrong_entry_is_named_in_is_no_mistake(tmp_path: Path):
    """The column is in a table, in people and in a mart's SQL, the mart is read by five others."""
    lake = copy_lake(tmp_path)
    column = edit(SPEC, "CustomerId, type: bigint", "CustomerId, type: number", "")
    mart = edit("marts/slow_sale_paths.yaml", "mode: scoped", "mode: scooped", "")
    assert places_of(check(lake / SPEC).mistakes) == []
    expected = make_mistakes(lake, [column, mart])
    assert places_of(check(lake / SPEC).mistakes) == expected


def test_the_rest_of_an_entry_with_a_mistake_is_looked_at_too(tmp_path: Path):
    """The table's own columns, and what the marts and expectations that read it make of it."""
    edits = [
        edit(SPEC, "    deletes: tombstone ", "    deletes: soon ", ""),
        edit(SPEC, "contract_subtotal, contract_signing_date, agent_id", "total, contract_signing_date, agent_id", ""),
        edit(DEALS_SQL, "SELECT", "SELECT rand() AS luck,", ""),
        edit(SALES, "  column: unit_id", "  column: unit", ""),
    ]
    expected = make_mistakes(copy_lake(tmp_path), edits)
    assert set(expected) <= set(places_of(check(tmp_path / SPEC).mistakes))


def test_a_column_without_a_name_could_be_any(tmp_path: Path):
    expected = make_mistakes(copy_lake(tmp_path), [edit(SPEC, "{name: unit_id,", "{nmae: unit_id,", "")])
    found = check(tmp_path / SPEC).mistakes
    assert places_of(found) == expected
    assert "unknown entries ['nmae']; write name; known are" in found[0]


def test_an_alias_has_the_place_of_its_anchor_and_merged_names_keep_theirs(tmp_path: Path):
    lake = copy_lake(tmp_path)
    edits = [
        edit(SPEC, "{name: units, ", "&table {name: units, ", ""),
        edit(SPEC, "project_id], buckets: 1", "project_id], ¦buckets: 0", ""),
        edit(SPEC, "{name: buildings,", "{<<: *table, ¦name: buildings,", ""),
        edit(SPEC, "[building_name], buckets: 1", "[building_name]", ""),
    ]
    units = make_mistakes(lake, edits)[0]
    assert places_of(check(lake / SPEC).mistakes) == [units, units]


def test_the_name_of_the_log_is_not_known(tmp_path: Path):
    """Marts, services and expectations name it; none of them is wrong."""
    spec = copy_lake(tmp_path) / SPEC
    spec.write_text(spec.read_text(encoding="utf-8").replace("log: sales_log\n", ""), encoding="utf-8")
    found = check(spec).mistakes
    assert places_of(found) == [(str(spec), 3)]
    assert "'log'; add the entry log" in found[0]


def test_expectations_of_no_table_and_marts_in_a_circle(tmp_path: Path):
    lake = copy_lake(tmp_path)
    (lake / "expectations" / "sales.yaml").rename(lake / "expectations" / "salse.yaml")
    reads = edit("marts/slow_sale_paths.yaml", "reads:\n", "¦reads:\n  - {table: slow_milestones, by: sale_id}\n", "")
    make_mistakes(lake, [reads])
    found = check(lake / SPEC).mistakes
    assert [file for file, _ in places_of(found)] == [
        str(lake / "expectations" / "salse.yaml"),
        str(lake / "marts" / "slow_milestones.yaml"),  # its reader slow_agent_performance is in no circle
        str(lake / "marts" / "slow_sale_paths.yaml"),
    ]
    assert "read each other in a circle; take one of the reads out" in found[1]
    assert "its SQL never reads slow_milestones; take it out" in found[2]


@pytest.mark.parametrize("text", ["", "7", "- a", "lake", "{}"])
def test_documents_that_are_no_lake(tmp_path: Path, text: str):
    (tmp_path / "lake.yaml").write_text(text, encoding="utf-8")
    found = check(tmp_path / "lake.yaml").mistakes
    assert set(places_of(found)) == {(str(tmp_path / "lake.yaml"), 1)}
