"""Spec files: the SALES lake that is shipped is read as design says, and every mistake is one clear line.

Each broken file is the shipped one with one replacement in its text.
"""

from __future__ import annotations

import pytest

from spark_jobs.contracts.errors import ContractError, LakehouseError, SettingsError
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.contracts.spec_file import load_lake_spec, parse_lake_spec
from tests.support import oracle

SHIPPED = PROJECT_ROOT / "include" / "lakes" / "sales.yaml"


def test_the_shipped_lake_is_the_one_of_the_design():
    spec = load_lake_spec(Settings().lake_spec)
    assert {column.source: column.name for column in spec.source.columns} == {
        source: name for source, (name, _) in oracle.COLUMNS.items()
    }
    assert {table.name: (table.key, table.columns) for table in spec.tables} == oracle.TABLES
    assert [table.name for table in spec.tables if table.follows_deletes] == ["sales"]
    assert [mart.name for mart in spec.marts] == ["fast_hourly_events", "fast_daily_deals"]
    assert (spec.log, spec.quarantine) == ("sales_log", "quarantine")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("lake: sales", "lake: [", "cannot be read"),
        ("lake: sales", "lake: sales\nspeed: high", "unknown entries ['speed']"),
        ("log: sales_log\n", "", "lake: missing 1 required keyword-only argument: 'log'"),
        ("source:\n", "sauce:\n", "source must be a mapping"),
        ("marts:\n", "marts: soon\nmarts_:\n", "must be a list"),
        ("type: bigint}", "type: int}", "column 'sale_id': 'int' is not a valid ColumnType; types are"),
        ("unit: {sqlserver: milliseconds", "unit: {sqlserver: minutes", "'minutes' is not a valid TimeUnit"),
        ("kind: hourly_events", "kind: weekly", "kind 'weekly' is unknown; kinds are"),
        ("key: unit_id,", "key: house_id,", "units: columns ['house_id'] are not declared"),
        ("buckets: 2", "bukkets: 2", "unknown entries ['bukkets']"),
        ("take: [project_id]}", "take: [project_id], of: x}", "unknown entries ['of']"),
        ("precision: 18, scale: 4", "precision: eighteen, scale: 4", "precision is 'eighteen'; give a whole number"),
        ("buckets: 2", "type: heap", "table 'sales': 'heap' is not a valid TableType; types are"),
        ("buckets: 2", "buckets: many", "buckets is 'many'; give a whole number"),
        ("topics: [", "topics: 5 #[", "source: topics is 5; give a list of names"),
        ("follows_deletes: true", "follows_deletes: 1", "follows_deletes is 1; give true or false"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_file(tmp_path, old, new, message):
    text = SHIPPED.read_text()
    assert old in text
    path = tmp_path / "lake.yaml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(LakehouseError) as caught:
        load_lake_spec(str(path))
    assert caught.value.exit_code == 2
    assert str(caught.value).startswith(f"lake spec {path}")
    assert "\n" not in str(caught.value)
    assert message in str(caught.value)


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
