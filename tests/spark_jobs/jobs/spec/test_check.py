"""``spec check`` as a person runs it: a line for every mart, all that is wrong, and an exit code.

Every case is the lake that is shipped with its marts copied, and files added to them. What is right is looked at in
processes, and what is wrong in this one.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.entrypoint import main
from spark_jobs.spec_files.spec_file import load_lake_spec
from tests.support.commands import end, run, run_well

INCLUDE = PROJECT_ROOT / "include"
MARTS = sorted(path.stem for path in (INCLUDE / "marts").glob("*.yaml"))
# By name: how it is declared, its SQL, and what is wrong with it.
BROKEN = {
    "deletes": (
        "mode: append\ngrain: [event_id]\nreads: [{table: sales_log}]",
        "SELECT event_id, COUNT(*) AS n FROM sales_log GROUP BY event_id",
        "mode append maps and filters rows one by one, and its SQL has GROUP BY; take it out, or use mode scoped",
    ),
    "distinct_agents": (
        "mode: aggregate\ngrain: [unit_id]\nreads: [{table: sales}]",
        "SELECT unit_id, COUNT(DISTINCT agent_id) AS agents FROM sales GROUP BY unit_id",
        "agents is COUNT(DISTINCT agent_id): neither a group nor one COUNT, SUM, MIN, MAX or AVG alone; use mode "
        "scoped, or compute it in a view",
    ),
    "ranks": (
        "mode: scoped\nscope: sale_id\ngrain: [sale_id]\nreads: [{table: sales, scope: sale_id}]",
        "SELECT sale_id, RANK() OVER (ORDER BY contract_subtotal) AS place FROM sales",
        "a window without the scope in its PARTITION BY mixes scopes; add it, or use mode full",
    ),
    "today": (
        "mode: full\ngrain: [sale_id]\nreads: [{table: sales}]",
        "SELECT sale_id, current_date() AS day FROM sales",
        "current_date does not give the same for the same rows; take times from the rows, or declare a window",
    ),
}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A folder with lakes/sales.yaml, marts/ and expectations/."""
    for folder in ("lakes", "marts", "expectations"):
        shutil.copytree(INCLUDE / folder, tmp_path / folder)
    return tmp_path


def declare(lake: Path, name: str, declared: str, sql: str) -> None:
    (lake / "marts" / f"{name}.yaml").write_text(f"name: {name}\nlayer: slow\n{declared}\n")
    (lake / "marts" / f"{name}.sql").write_text(f"{sql}\n")


Refused = Callable[[Path], tuple[list[str], str]]


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    """What was printed of a lake, and the only line of the error."""

    def refuse(lake: Path) -> tuple[list[str], str]:
        monkeypatch.setenv("LAKEHOUSE_LAKE_SPEC", str(lake / "lakes" / "sales.yaml"))
        assert main(["spec", "check"]) == 2
        output, errors = capsys.readouterr()
        (line,) = errors.splitlines()
        return output.splitlines(), line

    return refuse


def test_the_marts_that_are_shipped_are_right():
    code, output, errors = run("spec", "check", environment={})
    assert (code, errors) == (0, [])
    every = output.splitlines()
    start = next(number for number, line in enumerate(every) if line.split()[0] == "mart")
    assert [line.split()[0] for line in every[2:start]] == [
        each.name for each in load_lake_spec(Settings().lake_spec).tables
    ]
    head, _, *lines, result = every[start:]
    assert head.split() == ["mart", "layer", "mode", "reads", "grain", "result"]
    assert sorted(line.split()[0] for line in lines[: len(MARTS)]) == MARTS
    head, _, *expected = lines[len(MARTS) :]
    assert head.split() == ["expectation", "action", "expected", "result"]
    declared = load_lake_spec(Settings().lake_spec).expectations
    assert [line.split()[0] for line in expected] == [each.id for each in declared]
    assert all(line.endswith("  ok") for line in (*lines[: len(MARTS)], *expected))
    assert json.loads(result)["counters"] == {"tables": start - 2, "marts": len(MARTS), "expectations": len(declared)}


def test_the_mirrors_that_are_shipped_are_right(monkeypatch, capsys):
    monkeypatch.setenv("LAKEHOUSE_LAKE_SPEC", str(INCLUDE / "lakes" / "shop.yaml"))
    assert main(["spec", "check"]) == 0
    head, _, *lines, result = capsys.readouterr().out.splitlines()
    assert head.split() == ["table", "from", "key", "columns", "nulls", "deletes", "partition", "result"]
    declared = load_lake_spec(str(INCLUDE / "lakes" / "shop.yaml")).mirrors
    assert [line.split()[0] for line in lines] == [mirror.name for mirror in declared]
    assert [mirror.origin in line for mirror, line in zip(declared, lines, strict=True)] == [True] * len(declared)
    assert json.loads(result)["counters"] == {"tables": len(declared), "marts": 0, "expectations": 0}


def test_rules_that_no_mart_uses_are_looked_at_too(monkeypatch, capsys, tmp_path):
    (tmp_path / "2026.yaml").write_text("version: 2027\n", encoding="utf-8")
    monkeypatch.setenv("LAKEHOUSE_LAKE_SPEC", str(INCLUDE / "lakes" / "shop.yaml"))
    monkeypatch.setenv("LAKEHOUSE_RULES_PATH", str(tmp_path))
    assert main(["spec", "check"]) == 2
    printed = capsys.readouterr()
    assert f"{tmp_path}/2026.yaml:1: version is 2027; give the file's own name, '2026'" in printed.out
    assert printed.err.startswith("error: ")
    (tmp_path / "2026.yaml").unlink()
    assert main(["spec", "check"]) == 0


def test_the_report_of_the_lake_is_looked_at_too(monkeypatch, capsys, tmp_path):
    text = (INCLUDE / "reports" / "company.yaml").read_text(encoding="utf-8")
    (tmp_path / "company.yaml").write_text(text.replace("chart: number", "chart: pie"), encoding="utf-8")
    monkeypatch.setenv("LAKEHOUSE_LAKE_SPEC", str(INCLUDE / "lakes" / "company.yaml"))
    assert main(["spec", "check"]) == 0
    capsys.readouterr()
    monkeypatch.setenv("LAKEHOUSE_REPORTS_PATH", str(tmp_path))
    assert main(["spec", "check"]) == 2
    printed = capsys.readouterr()
    assert f"{tmp_path}/company.yaml:6: picture Revenue of the shop: chart 'pie' is unknown" in printed.out
    assert "company.yaml:6" in printed.err


def test_it_needs_neither_java_nor_jars(tmp_path):
    result = run_well("spec", "check", environment={"JAVA_HOME": str(tmp_path), "LAKEHOUSE_JARS_PATH": str(tmp_path)})
    assert (result.job, result.status, result.tables) == ("spec", "done", ())


def test_all_that_is_wrong_is_printed_and_the_first_is_the_error(lake, refused: Refused):
    for name, (declared, sql, _) in BROKEN.items():
        declare(lake, name, declared, sql)
    lines, error = refused(lake)
    assert lines == [f"{lake}/marts/{name}.sql:1: mart {name}: {why}" for name, (_, _, why) in sorted(BROKEN.items())]
    assert error == f"error: 4 wrong: {lines[0]}; the other 3 are printed above"


def test_one_mistake_is_no_others(lake, refused: Refused):
    declare(lake, "ranks", *BROKEN["ranks"][:2])
    assert refused(lake)[1] == f"error: 1 wrong: {lake}/marts/ranks.sql:1: mart ranks: {BROKEN['ranks'][2]}"


def test_files_that_cannot_be_understood_are_all_named(lake, refused: Refused):
    declare(lake, "a", "mode: weekly\ngrain: [x]\nreads: [{table: sales}]", "SELECT 1 AS x FROM sales")
    (lake / "marts" / "b.yaml").write_text("name: [")
    declare(lake, "c", *BROKEN["today"][:2])
    (lake / "marts" / "c.sql").unlink()
    lines, error = refused(lake)
    assert len(lines) == 3
    assert lines[0].startswith(f"{lake}/marts/a.yaml:3: mart 'a': mode 'weekly' is unknown; choose one of")
    assert lines[1].startswith(f"{lake}/marts/b.yaml:1: ")
    assert "b.yaml cannot be read" in lines[1]
    assert lines[2].startswith(f"{lake}/marts/c.yaml:1: mart c needs its SQL in ")
    assert error == f"error: 3 wrong: {lines[0]}; the other 2 are printed above"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("marts: ../marts", "marts: ../nowhere", "there is no folder"),
        ("lake: sales", "lake: [", "cannot be read"),
        ("time_zone: UTC", "time_zone: Mars", "time_zone 'Mars' is unknown"),
    ],
)
def test_a_lake_that_is_wrong_itself(lake, old, new, message, refused: Refused):
    path = lake / "lakes" / "sales.yaml"
    path.write_text(path.read_text().replace(old, new, 1))
    lines, error = refused(lake)
    assert error == f"error: 1 wrong: {lines[0]}"
    assert message in error


def test_a_log_of_another_name_is_reported_wherever_the_old_one_is_used(lake, refused: Refused):
    path = lake / "lakes" / "sales.yaml"
    path.write_text(path.read_text().replace("log: sales_log", "log: events", 1))
    lines, error = refused(lake)
    assert error == f"error: 4 wrong: {lines[0]}; the other 3 are printed above"
    assert [line.split(":")[0] for line in lines] == [
        f"{lake}/{name}"
        for name in (
            "expectations/sales_log.yaml",
            "lakes/sales.yaml",
            "marts/fast_hourly_events.yaml",
            "marts/slow_sale_paths.yaml",
        )
    ]
    assert all("reads 'sales_log', which is no table" in line for line in lines[2:])


def test_lines_are_in_the_order_of_files_and_lines(lake, refused: Refused):
    path = lake / "lakes" / "sales.yaml"
    text = path.read_text()
    for old, new in (("archive_commits: 240", "archive: 240"), ("key: building_id", "key: house"), ("UTC", "Mars")):
        text = text.replace(old, new, 1)
    path.write_text(text)
    lines, _ = refused(lake)
    assert [line.split(":")[0] for line in lines] == [str(path)] * 3
    wrong = [at for at, line in enumerate(text.splitlines(), 1) if re.search("Mars|key: house|archive: 240", line)]
    assert [int(line.split(":")[1]) for line in lines] == wrong
    assert all("; " in line for line in lines)


def test_a_lake_spec_that_is_not_there(tmp_path, refused: Refused):
    assert "cannot be read" in refused(tmp_path)[1]


def test_there_is_nothing_else_to_do_with_a_spec(capsys):
    assert end(["spec", "mend"]) == 2
    assert "invalid choice: 'mend'" in capsys.readouterr().err


def test_each_wrong_expectation_is_reported(lake: Path, refused: Refused):
    file = lake / "expectations" / "sales.yaml"
    file.write_text("a_rule: {column: price, not_null: true}\nb_rule: {holds: unit_id > RAND()}\n", encoding="utf-8")
    lines, error = refused(lake)
    assert any("sales.a_rule" in line and "has no column 'price'" in line for line in lines)
    assert any("sales.b_rule" in line and "does not give the same" in line for line in lines)
    assert error.startswith(f"error: 2 wrong: {file}:1: expectation sales.a_rule: ")
    file.write_text("a_rule: {not_null: 1}\n", encoding="utf-8")
    (lake / "expectations" / "units.yaml").write_text("[]\n", encoding="utf-8")
    lines, error = refused(lake)
    assert len(lines) == 2
    assert f"2 wrong: {file}:1: expectation 'a_rule'" in error
