"""Which DAGs an Airflow of this machine is awaited to have."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_stack.lakes import expected_dag_ids, make_lakes, of_one_lake
from spark_jobs.contracts.dag_ids import DAG_IDS
from spark_jobs.contracts.errors import LakehouseError
from spark_jobs.contracts.settings import PROJECT_ROOT

LAKES = PROJECT_ROOT / "include" / "lakes"


def test_one_lake_has_the_dags_of_its_layers() -> None:
    assert expected_dag_ids({}) == set(DAG_IDS)
    shop = expected_dag_ids({"LAKEHOUSE_LAKE_SPEC": str(LAKES / "shop.yaml")})
    assert set(DAG_IDS) - shop == {"fast_layer", "stitch_layer", "slow_layer"}


def test_several_lakes_have_those_of_each() -> None:
    found = expected_dag_ids({"LAKEHOUSE_LAKES": str(LAKES)})
    assert found > set(DAG_IDS)
    of_shop = {each for each in found - set(DAG_IDS) if not each.startswith("company_")}
    assert {"shop_ingest", "shop_split", "shop_freshness", "lakes"} <= of_shop
    assert len(of_shop) == len(DAG_IDS) - 3 + 1


def test_a_broken_lake_is_not_awaited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "torn.yaml").write_text("lake: 7\n", encoding="utf-8")
    assert expected_dag_ids({"LAKEHOUSE_LAKES": str(tmp_path)}) == {"lakes"}
    assert "lake torn is left out: " in "".join(capsys.readouterr())


def test_one_lake_that_is_broken_is_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "torn.yaml").write_text("lake: 7\n", encoding="utf-8")
    with pytest.raises(LakehouseError, match=r"torn\.yaml"):
        expected_dag_ids({"LAKEHOUSE_LAKE_SPEC": str(tmp_path / "torn.yaml")})


def test_what_makes_a_lake_of_its_own_is_alone() -> None:
    given = {"LAKEHOUSE_LAKES": "/lakes", "LAKEHOUSE_LAKE": "shop", "LAKEHOUSE_BASE_PATH": "/base"}
    assert of_one_lake(given) == {"LAKEHOUSE_BASE_PATH": "/base"}


def test_each_lake_is_made_once_and_no_broken_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    specs, environ = tmp_path / "specs", {"LAKEHOUSE_LAKES": str(tmp_path / "specs")}
    specs.mkdir()
    for lake in ("first", "second"):
        text = (LAKES / "shop.yaml").read_text(encoding="utf-8").replace("lake: shop\n", f"lake: {lake}\n", 1)
        (specs / f"{lake}.yaml").write_text(text, encoding="utf-8")
    (specs / "torn.yaml").write_text("lake: 7\n", encoding="utf-8")
    environ |= {"LAKEHOUSE_BASE_PATH": str(tmp_path / "base"), "LAKEHOUSE_LANDING_PATH": str(tmp_path / "landing")}
    make_lakes(environ)
    assert "lake torn is not made: " in "".join(capsys.readouterr())
    made = {str(path.relative_to(tmp_path)): path.read_text() for path in (tmp_path / "base").rglob("*.json")}
    assert made == {f"base/{lake}/.lake.json": f'{{"lake": "{lake}", "layout": 1}}\n' for lake in ("first", "second")}
    assert sorted(path.name for path in (tmp_path / "landing").iterdir()) == ["first", "second"]
    make_lakes(environ)
    assert "made lake" not in "".join(capsys.readouterr())
