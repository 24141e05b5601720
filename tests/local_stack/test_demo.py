"""What the demo refuses, and how it prints."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from local_stack.demo_data import MARK, Arrivals, DemoFolders
from local_stack.demo_report import format_table
from local_stack.errors import SetupError
from local_stack.truth_check import Truth


def folders(tmp_path: Path) -> DemoFolders:
    return DemoFolders(base=tmp_path / "lake", landing=tmp_path / "landing")


def test_folders_are_made_and_made_anew(tmp_path: Path) -> None:
    ours = folders(tmp_path)
    ours.make_anew()
    (ours.base / "units").mkdir()
    ours.make_anew()
    assert [path.name for path in ours.base.iterdir()] == [MARK]


def test_data_that_the_demo_did_not_make_is_left_alone(tmp_path: Path) -> None:
    ours = folders(tmp_path)
    ours.base.mkdir()
    (ours.base / "precious").touch()
    with pytest.raises(SetupError, match="holds something the demo did not make"):
        ours.make_anew()
    assert (ours.base / "precious").exists()
    assert not ours.landing.exists()


def test_an_empty_folder_may_be_used(tmp_path: Path) -> None:
    ours = folders(tmp_path)
    ours.base.mkdir()
    ours.make_anew()
    assert (ours.base / MARK).exists()


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"LAKEHOUSE_BASE_PATH": "s3a://bucket/lake"}, "give a local folder"),
        ({"LAKEHOUSE_BASE_PATH": "/x", "LAKEHOUSE_LANDING_PATH": "/x"}, "the same folder"),
    ],
)
def test_places_that_cannot_work_are_refused(environ: dict[str, str], sentence: str) -> None:
    with pytest.raises(SetupError, match=sentence):
        DemoFolders.from_environment(environ)


def test_the_demo_goes_where_the_environment_says(tmp_path: Path) -> None:
    found = DemoFolders.from_environment({"LAKEHOUSE_BASE_PATH": str(tmp_path / "b")})
    assert found.base == tmp_path / "b"
    assert found.landing.parts[-3:] == ("data", "demo", "landing")


def test_arrivals_add_up(tmp_path: Path) -> None:
    environ = {"LAKEHOUSE_LANDING_PATH": str(tmp_path), "PATH": "/usr/bin:/bin"}
    arrivals = Arrivals(events=103, count=4, seed=2)
    for number in range(1, 5):
        arrivals.deliver(number, environ)
    assert Truth.load(str(tmp_path), "erp.dbo.SALES").events == 103


def test_more_arrivals_than_events_are_refused() -> None:
    with pytest.raises(SetupError, match="at least one event an arrival"):
        Arrivals(events=3, count=4, seed=1)


def test_a_table_is_printed_with_numbers_to_the_right() -> None:
    text = format_table(("agent", "total"), [("Anna", Decimal("1234.5000")), (None, 7)])
    assert text.splitlines() == [
        "  agent       total",
        "  -----  ----------",
        "  Anna   1,234.5000",
        "  -               7",
    ]
