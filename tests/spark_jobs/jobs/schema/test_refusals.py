"""What ``schema`` refuses before it looks at a lake."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contracts.lake_names import NAME_FILE
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.entrypoint import main
from spark_jobs.storage.lake_names import make_lake

SHOP = PROJECT_ROOT / "include" / "lakes" / "shop.yaml"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["list", "--tables", "invoices,bask*"],
            "this lake has ['customers', 'products', 'orders', 'order_lines']",
        ),
        (["history", "--tables", "sales_log"], "no table with from fits --tables, nor does the wide log"),
        (["apply", "--yes", "--by", "Ann\nand Bob"], "--by"),
    ],
)
def test_other_tables_and_names_of_two_lines(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
):
    monkeypatch.setenv("LAKEHOUSE_LAKE_SPEC", str(SHOP))
    monkeypatch.setenv("LAKEHOUSE_BASE_PATH", str(tmp_path))
    make_lake("shop", Settings.from_environment(), may_adopt=False)
    assert main(["schema", *arguments]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""
    assert [path.name for path in tmp_path.iterdir()] == [NAME_FILE]
