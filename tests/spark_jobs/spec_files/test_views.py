"""Views are files of SQL: one SELECT each, one text for every engine, in the order in which they can be made."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.views import load_views, read_view


def write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        layer, _, view = name.partition("__")
        (folder / layer).mkdir(exist_ok=True)
        (folder / layer / f"{view}.sql").write_text(text, encoding="utf-8")
    return folder


def test_the_shipped_views_can_be_read():
    views = {view.name: view for view in load_views(Path(Settings().views_path))}
    assert views["sales_wide"].reads >= {"sales", "units", "agents"}
    assert {view.layer for view in views.values()} == {"fast", "slow", "stitch", "tables"}


def test_a_view_comes_after_those_it_reads(tmp_path: Path):
    write(tmp_path, a__top="SELECT x FROM middle", b__middle="SELECT x FROM bottom", c__bottom="SELECT x FROM sales")
    assert [view.name for view in load_views(tmp_path)] == ["bottom", "middle", "top"]


def test_names_of_with_are_not_read(tmp_path: Path):
    text = "WITH deals AS (SELECT * FROM sales) SELECT deals.x FROM deals JOIN units ON deals.x = units.x"
    write(tmp_path, a__one=text)
    view = read_view(tmp_path / "a" / "one.sql")
    assert view.reads == {"sales", "units"}
    assert view.sql({"sales": '"db"."sales"', "units": '"db"."units"'}) == (
        'WITH deals AS (SELECT * FROM "db"."sales" AS sales) SELECT deals.x FROM deals '
        'JOIN "db"."units" AS units ON deals.x = units.x'
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("DELETE FROM sales", "a view is one SELECT"),
        ("SELECT 1 FROM sales; DROP TABLE sales", "has 2 statements"),
        ("SELECT x FROM sales WHERE y = :day", "without parameters"),
        ("SELECT x FROM lake.sales", "it names lake.sales; leave the database out"),
        (
            "SELECT CAST(x AS STRING) AS x FROM sales",
            "Spark takes it for .*STRING.*VARCHAR",
        ),
        ("SELECT `x` FROM sales", "not one text for all engines"),
        ('SELECT "x" FROM sales', "not one text for all engines"),
        ("SELECT a / b AS share FROM sales", "not one text for all engines"),
        ("SELECT x FROM sales WHERE y = r'a'", "not one text for all engines: Trino cannot read it; look at quotes"),
        ("SELECT x FROM", "its SQL cannot be read"),
        ("", "its SQL"),
    ],
)
def test_what_is_no_view_is_refused_by_its_file(tmp_path: Path, text: str, reason: str):
    write(tmp_path, a__one=text)
    with pytest.raises(ContractError, match=rf"(?s)one\.sql: .*{reason}"):
        load_views(tmp_path)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path):
    message = r"view .*one\.sql cannot be read \(.*\); correct it"
    file = tmp_path / "a" / "one.sql"
    file.parent.mkdir()
    file.write_bytes(b"SELECT x FROM sales -- gr\xfcn")
    with pytest.raises(SettingsError, match=message):
        load_views(tmp_path)
    file.unlink()
    file.mkdir()
    with pytest.raises(SettingsError, match=message):
        load_views(tmp_path)


@pytest.mark.parametrize("name", ["Robert'); DROP TABLE x;--", "sаles", "a b", "x" * 64, '"x"'])
def test_a_file_whose_name_is_no_identifier_is_refused(tmp_path: Path, name: str):
    write(tmp_path, **{f"a__{name}": "SELECT x FROM sales"})
    with pytest.raises(ContractError, match="is not a snake_case identifier"):
        load_views(tmp_path)


def test_two_views_of_one_name_are_refused(tmp_path: Path):
    write(tmp_path, a__one="SELECT x FROM sales", b__one="SELECT y FROM sales")
    with pytest.raises(ContractError, match="there is a view one in layer a; rename one"):
        load_views(tmp_path)


def test_a_circle_is_named(tmp_path: Path):
    write(tmp_path, a__one="SELECT x FROM two", a__two="SELECT x FROM one")
    with pytest.raises(ContractError, match=r"in a circle: (one -> two -> one|two -> one -> two); break it"):
        load_views(tmp_path)
