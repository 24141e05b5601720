"""Checks are files of SQL, one a table: several SELECTs with a heading each, one text for every engine, keys only."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.checks import CHECK_ID, ROWS_COUNT, count_sql, load_checks
from spark_jobs.spec_files.spec_file import load_lake_spec

SPEC = load_lake_spec(Settings().lake_spec)
GOOD = "-- check: good\nSELECT sale_id FROM sales"


def write(folder: Path, text: str, table: str = "sales") -> Path:
    (folder / f"{table}.sql").write_text(text, encoding="utf-8")
    return folder


def test_every_table_that_readers_see_has_checks():
    checks = load_checks(Path(Settings().checks_path), SPEC)
    assert {check.table for check in checks} == {*SPEC.validated_tables, SPEC.quality.table}
    assert all(check.description.endswith(".") and check.keys for check in checks)
    assert len({check.id for check in checks}) == len(checks)


def test_a_file_has_several_with_their_names_and_what_they_say(tmp_path: Path):
    write(
        tmp_path,
        "-- about sales\n\n-- check: one\n-- A rule\n-- of two lines.\n"
        "SELECT sale_id FROM sales\nWHERE unit_id < 0;\n\n"
        "--check:two\nWITH few AS (SELECT unit_id AS it FROM units)\nSELECT s.sale_id AS id, f.it\n"
        "FROM sales AS s JOIN few AS f ON f.it = s.unit_id",
    )
    one, two = load_checks(tmp_path, SPEC)
    assert (one.id, one.description, one.keys) == ("sales.one", "A rule of two lines.", ("sale_id",))
    assert one.text == "SELECT sale_id FROM sales\nWHERE unit_id < 0"
    assert (two.id, two.description, two.keys) == ("sales.two", "", ("id", "it"))
    assert two.reads == {"sales", "units"}
    assert two.sample_sql(3).endswith(") AS broken ORDER BY 1, 2 LIMIT 3")
    assert count_sql([one, two]).count(f"AS {CHECK_ID}, COUNT(*) AS {ROWS_COUNT}") == 2


def test_checks_come_in_the_order_of_the_lakes_tables(tmp_path: Path):
    write(write(tmp_path, GOOD), "-- check: good\nSELECT agent_id FROM agents", "agents")
    assert [check.table for check in load_checks(tmp_path, SPEC)] == ["agents", "sales"]
    assert [check.table for check in load_checks(tmp_path, SPEC, ["sales"])] == ["sales"]
    with pytest.raises(ContractError, match=r"no checks for 'units'; there are some for agents, sales"):
        load_checks(tmp_path, SPEC, ["sales", "units"])


def test_a_person_may_be_read_and_not_shown(tmp_path: Path):
    write(tmp_path, "-- check: named\nSELECT agent_id FROM agents WHERE agent_name IS NULL", "agents")
    assert len(load_checks(tmp_path, SPEC)) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT sale_id FROM sales", "each SELECT needs a line '-- check: name' above it"),
        (f"SELECT 1 AS x FROM sales;\n{GOOD}", "each SELECT needs a line '-- check: name' above it"),
        ("", "each SELECT needs a line"),
        ("-- check: \nSELECT sale_id FROM sales", "check ''.* is not a snake_case identifier"),
        ("-- check: it's\nSELECT sale_id FROM sales", "is not a snake_case identifier"),
        (f"{GOOD};\n{GOOD}", "good: there are two of this name; rename one"),
        ("-- check: a\n-- nothing below", "its SQL has 0 statements"),
        ("-- check: a\nSELECT sale_id FROM sales; SELECT 1 FROM sales", "has 2 statements"),
        ("-- check: a\nDELETE FROM sales", "a check is one SELECT without parameters"),
        ("-- check: a\nSELECT sale_id FROM sales WHERE day = :day", "without parameters"),
        ("-- check: a\nSELECT sale_id FROM lake.sales", "it names lake.sales; leave the database out"),
        ("-- check: a\nSELECT CAST(sale_id AS STRING) AS x FROM sales", "not one text for all engines"),
        ("-- check: a\nSELECT unit_id FROM units", "it does not read sales; put it into the file of a table"),
        ("-- check: a\nSELECT sale_id FROM sales CROSS JOIN sails", "it reads sails, which is no table"),
        (
            "-- check: a\nSELECT sale_id FROM sales CROSS JOIN quarantine",
            "it reads quarantine, which is no table that readers",
        ),
        ("-- check: a\nSELECT * FROM sales", r"it selects \*; name the columns"),
        ("-- check: a\nSELECT sales.* FROM sales", r"it selects \*; name the columns"),
        ("-- check: a\nSELECT x FROM (SELECT * FROM sales) AS y", r"it selects \*; name the columns"),
        ("-- check: a\nSELECT sale_id + 1 FROM sales", "each of its columns needs a name of its own"),
        ("-- check: a\nSELECT sale_id, unit_id AS sale_id FROM sales", "each of its columns needs a name of its own"),
        ("-- check: a\nSELECT agent_name FROM sales CROSS JOIN agents", "it selects agent_name, which names people"),
        (
            "-- check: a\nSELECT UPPER(A.Agent_Name) AS x FROM sales CROSS JOIN agents AS a",
            "it selects agent_name, which names",
        ),
        (
            "-- check: a\nWITH b AS (SELECT customer_name AS c FROM customers) SELECT b.c FROM sales CROSS JOIN b",
            "it selects customer_name, which names people",
        ),
    ],
)
def test_what_is_no_check_is_refused_by_its_file(tmp_path: Path, text: str, reason: str):
    with pytest.raises(ContractError, match=rf"(?s)sales\.sql: .*{reason}"):
        load_checks(write(tmp_path, text), SPEC)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path):
    message = r"sales\.sql is not text in UTF-8 \(.*\); correct it"
    (tmp_path / "sales.sql").write_bytes(GOOD.encode() + b" -- gr\xfcn")
    with pytest.raises(ContractError, match=message):
        load_checks(tmp_path, SPEC)
    (tmp_path / "sales.sql").unlink()
    (tmp_path / "sales.sql").mkdir()
    with pytest.raises(ContractError, match=message):
        load_checks(tmp_path, SPEC)


def test_a_file_of_no_table_of_the_lake_is_refused(tmp_path: Path):
    with pytest.raises(ContractError, match=r"lake sales has no table of this name; .* \(LAKEHOUSE_CHECKS_PATH\)"):
        load_checks(write(tmp_path, GOOD, "sails"), SPEC)
