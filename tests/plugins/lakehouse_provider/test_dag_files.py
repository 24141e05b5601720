"""Every DAG file of the package is run at each call, in the order of names; what one raises is raised."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakehouse_provider import dag_files

LINE = """from pathlib import Path
with Path({log!r}).open("a") as log:
    print(Path(__file__).name, __doc__, file=log)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three files that note that they were run, and the one that makes no DAGs and only raises."""
    folder = tmp_path / "dags"
    folder.mkdir()
    for name in ("b", "a", "c"):
        (folder / f"{name}.py").write_text(f'"""page of {name}"""\n{LINE.format(log=str(tmp_path / "log"))}')
    (folder / "lake_specs.py").write_text("raise ValueError('a broken lake')\n")
    (folder / "ruff.toml").write_text("no Python\n")
    monkeypatch.setattr(dag_files, "FOLDER", folder)
    return folder


def test_a_second_parse_in_one_process_makes_the_dags_again(folder: Path, tmp_path: Path) -> None:
    for _ in range(2):
        dag_files.make_dags()
    lines = [f"{name}.py page of {name}" for name in "abc"]
    assert (tmp_path / "log").read_text().splitlines() == [*lines, *lines]


def test_what_a_file_raises_is_raised(folder: Path) -> None:
    (folder / "b.py").write_text("raise ValueError('no lake')\n")
    with pytest.raises(ValueError, match="no lake"):
        dag_files.make_dags()


def test_the_package_has_the_files_of_the_dags_folder() -> None:
    assert {"lakes.py", "lake_specs.py", "ingest_sales.py"} <= {file.name for file in dag_files.FOLDER.glob("*.py")}
