"""Every picture that is shipped is read without a JVM, as far as its SQL goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.lake_report.report import columns_of
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.spec_files.report_file import load_report
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.spec_files.views import load_views
from spark_jobs.sql_analysis.local_kinds import WHOLE, Kind, LocalColumn
from spark_jobs.sql_analysis.local_sql import localize
from spark_jobs.sql_analysis.mart_sql_checks import visible_columns
from spark_jobs.sql_analysis.statements import names_in, reached, read_select

VIEWS = load_views(Path(Settings().views_path))
TEXTS = {view.name: view.text for view in VIEWS}
READS = {view.name: view.reads for view in VIEWS}


def schema_of(tables: set[str], spec: LakeSpec) -> dict[str, dict[str, LocalColumn]]:
    """Keys are whole numbers, and all else are decimals whose sum would be Spark's."""
    wide = LocalColumn(kind=Kind.DECIMAL, digits=38, scale=4)
    return {
        table: {name: WHOLE if name.endswith("_id") else wide for name in visible_columns(spec, table)}
        for table in tables
    }


@pytest.mark.parametrize("lake", ["sales", "company"])
def test_it_is_certain_that_both_engines_give_the_rows(lake: str):
    spec = load_lake_spec(str(PROJECT_ROOT / "include" / "lakes" / f"{lake}.yaml"))
    for view, columns in columns_of(load_report(Settings().reports_path, spec, VIEWS)).items():
        query = read_select(" ".join(("SELECT", ", ".join(columns), "FROM", view)))
        assert query is not None
        tables = {*reached(names_in(query) or (), READS)} - READS.keys()
        assert localize(query, schema_of(tables, spec), TEXTS).columns == columns
