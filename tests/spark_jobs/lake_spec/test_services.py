"""What a lake spec says of its services: for all tables, and for those that want something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import PROJECT_ROOT
from spark_jobs.lake_spec.services import ServiceTargets
from spark_jobs.spec_files.spec_file import load_lake_spec, parse_lake_spec

SPEC = PROJECT_ROOT / "include" / "lakes" / "sales.yaml"


def spec_with(services: Any) -> Any:
    document = yaml.safe_load(Path(SPEC).read_text(encoding="utf-8"))
    del document["marts"]
    return parse_lake_spec({**document, "services": services})


def test_the_shipped_lake_says_what_the_defaults_are():
    spec = load_lake_spec(str(SPEC))
    assert spec.services == ServiceTargets()
    assert spec.targets("sales_log") == ServiceTargets(sort_by=("sale_id",))
    assert spec.targets("units") == ServiceTargets()


def test_a_table_wants_what_it_says_and_else_what_all_want():
    spec = spec_with({"keep_hours": 24, "tables": {"sales": {"compact_log_files": 4}}})
    assert spec.targets("units") == ServiceTargets(keep_hours=24)
    assert spec.targets("sales") == ServiceTargets(keep_hours=24, compact_log_files=4)
    assert spec_with({}).targets("sales") == ServiceTargets()
    assert spec_with({"tables": {"sales": {"compact_minutes": None}}}).targets("sales").compact_minutes is None


@pytest.mark.parametrize(
    ("services", "reason"),
    [
        ({"keep_days": 3}, r"services: unknown entries \['keep_days'\]"),
        ({"keep_hours": "six"}, "services: keep_hours is 'six'; give a whole number"),
        ({"keep_commits": 0}, "services: keep_commits is 0; give at least 1"),
        ({"small_file_mb": 256}, r"files of up to 128 MB would be small \(small_file_mb 256\)"),
        ({"compact_minutes": "60"}, "services: compact_minutes is '60'; give a whole number of minutes, or null"),
        ({"compact_minutes": True}, "services: compact_minutes is True; give a whole number of minutes, or null"),
        ({"tables": {"sales": {"compact_minutes": 0}}}, "services: compact_minutes is 0; give at least 1"),
        ({"compact_log_percent": 0}, "services: compact_log_percent is 0; give at least 1"),
        ({"compact_log_percent": 12.5}, "services: compact_log_percent is 12.5; give a whole number"),
        ({"sort_by": "sale_id"}, "services: sort_by is 'sale_id'; give a list of names"),
        ({"sort_by": ["sale_id; DROP"]}, "is not a snake_case identifier"),
        ({"tables": {"orders": {}}}, r"services: tables \['orders'\] are none of this lake"),
        ({"tables": {"sales": {"keep": 1}}}, r"services of sales: unknown entries \['keep'\]"),
        ({"tables": ["sales"]}, "services: tables must be a mapping"),
        ([], "services must be a mapping"),
    ],
)
def test_a_mistake_is_one_clear_line(services: Any, reason: str):
    with pytest.raises(ContractError, match=reason):
        spec_with(services)
