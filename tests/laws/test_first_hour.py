"""The files that docs/first-hour.md has people write, made by its own commands: a right lake spec, and events of it.

tests/e2e/test_documents.py follows the whole page; what is here takes a second and needs no lake.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.settings import PROJECT_ROOT
from spark_jobs.sources.decoding import RecordDecoder
from spark_jobs.spec_files.lake_check import check_lake
from spark_jobs.spec_files.spec_file import load_lake_spec
from tests.support.documents import groups

PAGE = "docs/first-hour.md"
WRITES = ("cat >", "sed ", "mkdir ", "touch ", "cp data/first-hour/landing", "export before")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``data/first-hour`` after the page's commands that write files, and no others."""
    root = tmp_path_factory.mktemp("reader")
    made = root / "data" / "first-hour"
    (made / "landing" / "erp.dbo.SALES").mkdir(parents=True)
    shutil.copytree(PROJECT_ROOT / "include", made / "include")
    commands = [each for group in groups(PAGE) for each in group.commands if each.startswith(WRITES)]
    assert len(commands) > 15
    subprocess.run(["bash", "-eu", "-c", "\n".join(commands)], cwd=root, check=True)
    return made


def decoded(folder: Path, file: str) -> list[dict[str, Any]]:
    decoder = RecordDecoder(load_lake_spec(str(folder / "include" / "lakes" / "sales.yaml")))
    for at, line in enumerate((folder / file).read_bytes().splitlines()):
        decoder.add(file, at, line)
    return list(decoder.flush().to_pylist())


def test_what_it_adds_to_the_declaration_is_right(folder: Path) -> None:
    found = check_lake(folder / "include" / "lakes" / "sales.yaml", str(PROJECT_ROOT / "include" / "rules"))
    assert found.mistakes == ()
    assert found.spec is not None
    assert {"agent_totals"} <= found.spec.mart_names
    assert "WHERE contract_signing_date IS NOT NULL" in found.spec.mart("agent_totals").sql
    assert found.spec.table("orders").origin == "public.orders"
    assert "sales.contract_is_no_small_change" in {each.id for each in found.spec.expectations}


def test_its_events_are_read_but_for_the_broken_one_whose_hash_it_names(folder: Path) -> None:
    broken = "landing/erp.dbo.SALES/reader-2.jsonl"
    files = sorted(str(file.relative_to(folder)) for file in folder.glob("landing/*/*.jsonl"))
    assert len(files) == 8
    reasons = {file: [row["reason"] for row in decoded(folder, file) if row["reason"]] for file in files}
    assert reasons == {file: ["bad_decimal"] if file == broken else [] for file in files}
    (record,) = (folder / broken).read_bytes().splitlines()
    text = (PROJECT_ROOT / PAGE).read_text(encoding="utf-8")
    assert f"quarantine show {hashlib.sha256(record).hexdigest()[:12]}\n" in text
    (repaired,) = decoded(folder, "repaired.json")
    assert (repaired["reason"], str(repaired["contract_subtotal"])) == (None, "180000.0000")


def test_each_of_its_events_is_later_than_those_before(folder: Path) -> None:
    names = [f"landing/erp.dbo.SALES/reader-{number}.jsonl" for number in (1, 3, 4, 5)]
    names.insert(1, "repaired.json")
    order = [row["event_order"] for name in names for row in decoded(folder, name)]
    assert len(order) == 6
    assert order == sorted(order)
    assert len({*order}) == len(order)
