"""The lakes of an Airflow: which are served, which are left out, and what is reported of those.

The folder of each test is made of specs of one table, `items`, and its log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from lakehouse_provider import lakes as module
from lakehouse_provider.lakes import Lake, check_lakes, each_lake, lake_names, load_lake
from spark_jobs.contracts.errors import ContractError, LakehouseError, SettingsError

SPEC = """lake: {name}
source:
  topics: [{name}]
  key: item_id
  columns:
    - {{name: item_id, source: ItemId, type: bigint}}
    - {{name: item_name, source: ItemName, type: string}}
log: {name}_log
quarantine: quarantine
tables:
  - {{name: items, key: item_id, columns: [item_name], buckets: 1}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two lakes that are right."""
    lakes = tmp_path / "lakes"
    lakes.mkdir()
    for name in ("sales", "shop"):
        (lakes / f"{name}.yaml").write_text(SPEC.format(name=name), encoding="utf-8")
    monkeypatch.setenv("LAKEHOUSE_LAKES", str(lakes))
    monkeypatch.setenv("LAKEHOUSE_BASE_PATH", str(tmp_path / "base"))
    monkeypatch.setenv("LAKEHOUSE_LANDING_PATH", str(tmp_path / "landing"))
    return lakes


def served(kind: str = "ingest") -> list[str]:
    return [lake.dag_id(kind) for lake in each_lake(kind)]


def problems() -> str:
    with pytest.raises(ContractError) as raised:
        check_lakes()
    return str(raised.value)


def test_each_lake_of_the_folder_is_served(folder: Path) -> None:
    assert served() == ["ingest_sales", "shop_ingest"]
    assert served("fast_layer") == [], "none of them has marts"
    check_lakes()


def test_a_lake_that_is_alone_is_called_after_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAKEHOUSE_LAKES", raising=False)
    (lake,) = each_lake("slow_layer")
    assert (lake.name, lake.spec.lake, lake.dag_id("split")) == ("", "sales", "split_sales")
    assert lake.tags("split") == ["lakehouse", "split"]
    check_lakes()


def test_a_file_more_is_a_lake_more_and_a_file_less_one_less(folder: Path) -> None:
    (folder / "north.yaml").write_text(SPEC.format(name="north"), encoding="utf-8")
    assert served() == ["north_ingest", "ingest_sales", "shop_ingest"]
    (folder / "sales.yaml").unlink()
    assert served() == ["north_ingest", "shop_ingest"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("lake: [", r"torn\.yaml:1: .* cannot be read"),
        ("", r"torn\.yaml:1: the file must be a mapping"),
        (SPEC.format(name="torn").replace("key: item_id,", "key: no_id,"), r"torn\.yaml:11: "),
        (SPEC.format(name="torn") + "marts: ../none\n", r"none"),
        (SPEC.format(name="shop"), r"torn\.yaml:1: lake is 'shop'; call the file shop\.yaml, or the lake torn"),
        (SPEC.format(name="torn") + "colour: red\n", r"torn\.yaml:12: .*'colour'"),
    ],
    ids=["no YAML", "empty", "unknown column", "no marts there", "another lake's name", "unknown entry"],
)
def test_a_broken_lake_is_left_out_and_its_place_is_reported(folder: Path, text: str, line: str) -> None:
    (folder / "torn.yaml").write_text(text, encoding="utf-8")
    assert served() == ["ingest_sales", "shop_ingest"]
    assert re.search(line, problems())
    assert problems().endswith("(what is not named here goes on)")


def test_every_broken_lake_is_reported(folder: Path) -> None:
    for name in ("torn", "worn", "Not A Lake"):
        (folder / f"{name}.yaml").write_text("lake: 7\n", encoding="utf-8")
    assert served() == ["ingest_sales", "shop_ingest"]
    reported = problems()
    assert all(f"{name}.yaml:1" in reported for name in ("torn", "worn", "Not A Lake"))


def test_a_lake_with_a_wrong_setting_is_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKEHOUSE_MAX_EVENTS__SHOP", "many")
    assert served() == ["ingest_sales"]
    assert "lake shop: LAKEHOUSE_MAX_EVENTS='many' is not a whole number" in problems()


def test_a_lake_at_the_place_of_another_is_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKEHOUSE_BASE_PATH__SHOP", str(folder.parent / "base" / "sales" / "shop"))
    assert served() == ["ingest_sales"]
    assert "set LAKEHOUSE_BASE_PATH__SHOP to a folder of its own" in problems()


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("LAKEHOUSE_BASE_PTH__SHOP", "there is no setting 'base_pth'; write 'base_path'"),
        ("LAKEHOUSE_BASE_PATH__SHOPP", "there is no lake 'shopp'; write 'shop'"),
    ],
)
def test_a_variable_of_no_lake_or_setting_is_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch, variable: str, message: str
) -> None:
    monkeypatch.setenv(variable, "/elsewhere")
    assert served() == ["ingest_sales", "shop_ingest"]
    assert f"{variable}: {message}" in problems()


def test_tables_of_a_lake_that_was_alone_are_not_left_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = folder.parent / "base"
    (base / "sales_log" / ".hoodie").mkdir(parents=True)
    assert served() == ["shop_ingest"]
    assert "set LAKEHOUSE_BASE_PATH__SALES to where they are and LAKEHOUSE_LANDING_PATH__SALES to" in problems()
    monkeypatch.setenv("LAKEHOUSE_BASE_PATH__SALES", str(base))
    monkeypatch.setenv("LAKEHOUSE_BASE_PATH", str(folder.parent / "bases"))
    assert served() == ["ingest_sales", "shop_ingest"]
    check_lakes()


def test_a_task_reads_its_own_lake_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def load(name: str, environment: Mapping[str, str]) -> Lake:
        read.append(name)
        return load_lake(name, environment)

    monkeypatch.setattr(module, "load_lake", load)
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", "shop_split")
    assert served("split") == ["shop_split"]
    assert read == ["shop"]
    assert served("ingest") == []
    assert read == ["shop"]


def test_a_task_of_a_lake_that_broke_meanwhile_fails_with_the_reason(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "shop.yaml").write_text("lake: 7\n", encoding="utf-8")
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", "shop_split")
    with pytest.raises(LakehouseError, match=r"shop\.yaml:1"):
        served("split")


@pytest.mark.parametrize("is_there", [True, False])
def test_a_folder_that_has_no_lakes_is_an_error_of_every_dag_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    monkeypatch.setenv("LAKEHOUSE_LAKES", str(tmp_path if is_there else tmp_path / "gone"))
    readers: tuple[Callable[[], object], ...] = (served, check_lakes)
    for read in readers:
        with pytest.raises(SettingsError, match="LAKEHOUSE_LAKES="):
            read()


@pytest.fixture
def lakes(folder: Path) -> dict[str, Lake]:
    return {lake.name: lake for lake in each_lake("ingest")}


def test_what_a_dag_has_of_its_lake(lakes: dict[str, Lake], monkeypatch: pytest.MonkeyPatch) -> None:
    assert lake_names({}) == ("",)
    assert {name: lake.conn_id("lakehouse_serving") for name, lake in lakes.items()} == {
        "sales": "lakehouse_serving",
        "shop": "lakehouse_serving_shop",
    }
    assert lakes["shop"].tags("ingest") == ["lakehouse", "ingest", "shop"]
    assert (lakes["shop"].writer_args["lake"], "pool" in lakes["shop"].writer_args) == ("shop", False)
    assert lakes["shop"].settings.base_path.endswith("/base/shop")


def test_another_lakes_page_has_its_own_dags(lakes: dict[str, Lake]) -> None:
    text = "### Title\n\n`{split}`, `{fast}` (`airflow backfill create --dag-id {split}`), recompute and `sales_log`."
    of_sales = text.format(split="split_sales", fast="fast_layer")
    assert lakes["sales"].page(of_sales) == of_sales
    title, _, rest = lakes["shop"].page(of_sales).partition("\n")
    assert title == "### Title"
    assert rest.startswith("\nOf the lake `shop`;")
    assert rest.endswith(text.format(split="shop_split", fast="shop_fast_layer").removeprefix(title))
