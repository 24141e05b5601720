"""What is reported of columns that are not declared: once, and of values that are too long that they are not kept."""

from __future__ import annotations

from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.undeclared_columns import KeptColumn
from spark_jobs.pipelines.undeclared_columns import UndeclaredColumns
from spark_jobs.spec_files.spec_file import load_lake_spec


def kept(*types: str, declared: str = "") -> KeptColumn:
    return KeptColumn(types=types, order="1", place="a:1", at="2026-01-01T00:00:00Z", declared=declared)


def test_each_new_column_is_reported_once_with_its_types_and_what_is_kept_of_it():
    columns = {
        "Blob": kept("sqlserver:string", "sqlserver:too long"),
        "Discount": kept("sqlserver:decimal(9,2)"),
        "Region": kept("sqlserver:string", declared="2026-01-02T00:00:00Z"),
        "Seen": kept("sqlserver:string"),
    }
    spec = load_lake_spec(Settings().lake_spec)
    blob, discount = UndeclaredColumns(before={"Seen": columns["Seen"]}, after=columns).alerts(spec)
    assert "column Blob (string, too long) came, " in blob
    assert "its values are kept, but not those that are too long; docs/schemas.md" in blob
    assert (
        "column Discount (decimal(9,2)) came, which the lake spec does not declare: its values are kept; " in discount
    )
