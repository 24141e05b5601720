"""Spec files: the SALES lake that is shipped is read as design says, and every mistake is one clear line.

Each broken file is the shipped one with one replacement in its text.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from spark_jobs.contracts.errors import ContractError, LakehouseError, SettingsError
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.lake_spec.marts import MartMode
from spark_jobs.spec_files.spec_file import load_lake_spec, parse_lake_spec
from tests.support import oracle

SHIPPED = PROJECT_ROOT / "include" / "lakes" / "sales.yaml"
MARTS = "marts: ../marts"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a lake spec may be, with the marts and expectations that are shipped beside it."""
    for folder in ("marts", "expectations"):
        shutil.copytree(PROJECT_ROOT / "include" / folder, tmp_path / folder)
    (tmp_path / "lakes").mkdir()
    return tmp_path / "lakes" / "lake.yaml"


def test_the_shipped_lake_is_the_one_of_the_design():
    spec = load_lake_spec(Settings().lake_spec)
    assert {column.source: column.name for column in spec.source.columns} == {
        source: name for source, (name, _) in oracle.COLUMNS.items()
    }
    assert {table.name: (table.key_column, table.columns) for table in spec.tables} == oracle.TABLES
    assert [table.name for table in spec.tables if table.follows_deletes] == ["sales"]
    assert {mart.layer for mart in spec.marts} == {"fast", "stitch", "slow"}
    assert {mart.name: mart.mode for mart in spec.marts if mart.layer != "slow"} == {
        "fast_hourly_events": MartMode.SCOPED,
        "fast_daily_deals": MartMode.SCOPED,
        "stitch_agent_days": MartMode.AGGREGATE,
        "stitch_agent_contracts": MartMode.STITCH,
    }
    assert (spec.log, spec.quarantine) == ("sales_log", "quarantine")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("lake: sales", "lake: [", "cannot be read"),
        ("lake: sales", "lake: sales\nspeed: high", "unknown entries ['speed']"),
        ("lake: sales", "lake: sales\npatterns: []", "'patterns' is no entry of its own; write each as an entry of"),
        ("lake: sales", "lake: sales\nunresolved: []", "'unresolved' is no entry of its own; take it out"),
        ("log: sales_log\n", "", "lake: missing 1 required keyword-only argument: 'log'"),
        ("source:\n", "sauce:\n", "source must be a mapping"),
        ("tables:\n", "tables: soon\ntables_:\n", "tables must be a list"),
        (MARTS, "marts: [fast]", "marts is ['fast']; give the folder of their files, beside this one"),
        (MARTS, "marts: 7", "marts is 7; give the folder"),
        ("log: sales_log", "log: log_of_sales", "reads 'sales_log', which is no table; tables: ["),
        ("type: bigint}", "type: int}", "column 'sale_id': type 'int' is unknown; choose one of"),
        ("unit: {sqlserver: milliseconds", "unit: {sqlserver: minutes", "'minutes' is unknown"),
        ("key: unit_id,", "key: house_id,", "units: columns ['house_id'] are not declared"),
        ("buckets: 2", "bukkets: 2", "unknown entries ['bukkets']"),
        ("precision: 18, scale: 4", "precision: eighteen, scale: 4", "precision is 'eighteen'; give a whole number"),
        ("buckets: 2", "type: heap", "table 'sales': type 'heap' is unknown; choose one of"),
        ("buckets: 2", "buckets: many", "buckets is 'many'; give a whole number"),
        ("topics: [", "topics: 5 #[", "source: topics is 5; give a list of names"),
        ("deletes: tombstone ", "deletes: 1 ", "deletes '1' is unknown; choose one of"),
        ("people:\n", "people: all\npeople_:\n", "people must be a mapping"),
        ("agent: {key: agent_id", "agent: {key: seller_id", "people: agent: columns ['seller_id'] are not declared"),
        ("agent: {key: agent_id", "agent: {key: sale_id", "no event's key"),
        ("columns: [agent_name]}\n  customer", "columns: [unit_id]}\n  customer", "columns ['unit_id'] are not text"),
        ("  agent: {key", "  yes: {key", "people: True: role is True; give text"),
        ("columns: [status_name]", "columns: [status_name, agent_name]", "holds ['agent_name'] beside another key"),
        ("every_minutes: 30", "every_minutes: -1", "every_minutes is -1; give minutes, or 0 for every commit"),
        ("  agent: {key", "  clock: {key", "people: 'clock' is the name of another option"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_file(path, old, new, message):
    text = SHIPPED.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(LakehouseError) as caught:
        load_lake_spec(str(path))
    assert caught.value.exit_code == 2
    assert str(caught.value).startswith(f"lake spec {path}")
    assert "\n" not in str(caught.value)
    assert message in str(caught.value)


def test_a_mistake_in_a_mart_names_both_files(path):
    path.write_text(SHIPPED.read_text())
    declared = path.parents[1] / "marts" / "fast_daily_deals.yaml"
    declared.write_text(declared.read_text().replace("mode: scoped", "mode: hourly"))
    with pytest.raises(ContractError) as caught:
        load_lake_spec(str(path))
    assert str(caught.value).startswith(f"lake spec {path}: {declared}:3: mart 'fast_daily_deals': mode 'hourly' is")


def test_a_folder_of_marts_that_is_not_there(path):
    path.write_text(SHIPPED.read_text().replace(MARTS, "marts: nowhere"))
    with pytest.raises(SettingsError, match=r"there is no folder .*nowhere; correct the lake spec's entry marts"):
        load_lake_spec(str(path))


def test_a_lake_may_have_no_marts(path):
    path.write_text(SHIPPED.read_text().replace(MARTS, ""))
    assert load_lake_spec(str(path)).marts == ()


@pytest.mark.parametrize("name", ["absent.yaml", "."])
def test_a_file_that_cannot_be_opened(tmp_path, name):
    with pytest.raises(SettingsError, match=r"cannot be read .* set LAKEHOUSE_LAKE_SPEC"):
        load_lake_spec(str(tmp_path / name))


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "lake.yaml").write_bytes(b"lake: \xff\xfe")
    with pytest.raises(SettingsError, match="cannot be read"):
        load_lake_spec(str(tmp_path / "lake.yaml"))


@pytest.mark.parametrize("document", [None, [], "sales", 7, {}])
def test_documents_that_are_no_lake(document):
    with pytest.raises(ContractError):
        parse_lake_spec(document)
