"""Hostile names in every option that is a name: exit code 2 and one clear line, before an engine starts.

Run in this process, on an empty lake. No jar is set: a command that came as far as opening a session would say so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from spark_jobs.contracts.lake_names import NAME_FILE
from spark_jobs.job_options.registry import JOBS
from spark_jobs.spec_files import spec_file
from spark_jobs.spec_files.lake_files import LakeFiles, read_lake_files
from spark_jobs.spec_files.mistakes import Mistakes
from tests.support.commands import end, init
from tests.support.hostile_names import HOSTILE, is_clear

NAME = "NAME"
COMMANDS = [
    "mart --layer=NAME",
    "mart --layer=fast --mart=NAME",
    "mart --layer=fast --clock=NAME",
    "mart --layer=fast --interval-start=NAME --interval-end=2026-01-01",
    "recompute --layer=NAME --from=2026-01-01 --to=2026-01-31",
    "recompute --layer=slow --mart=NAME --from=2026-01-01 --to=2026-01-31",
    "recompute --layer=slow --rules=NAME --from=2026-01-01 --to=2026-01-31",
    "recompute --layer=slow --from=NAME --to=2026-01-31",
    "recompute --layer=slow --from=2026-01-01 --to=NAME --yes",
    "recompute --undo=NAME --yes",
    "preview --plan=NAME",
    "apply --plan=NAME",
    "undo --plan=NAME",
    "undo --plan=NAME --yes",
    "plan --marts=NAME --keep",
    "plan --tables=NAME --keep",
    "rules diff NAME v1",
    "rules diff v1 v2 --from=NAME",
    "serve --layer=NAME",
    "serve --layer=fast --mart=NAME",
    "load --table=NAME --from=rates.csv",
    "partitions list --table=NAME",
    "partitions delete --table=NAME --partition=2026-01-01",
    "partitions retain --table=NAME --yes",
    "partitions NAME",
    "schema list --tables=NAME",
    "schema NAME",
    "source new-epoch --stream=NAME --since=2026-01-01",
    "source new-epoch --stream=a --after=NAME --yes",
    "source same-epoch --stream=NAME --until=2026-01-01 --yes",
    "source NAME",
    "split --tables=NAME",
    "split --databases=NAME",
    "services plan --table=NAME",
    "services run --table=NAME",
    "services run --service=NAME",
    "savepoint create --label=NAME",
    "savepoint delete --name=NAME",
    "restore --to=NAME",
    "restore --to=NAME --yes",
    "erase --agent=NAME",
    "doctor check --table=NAME",
    "doctor repair --table=NAME",
    "consumers register --name=NAME --table=agents",
    "consumers register --name=reader --table=NAME",
    "consumers register --name=reader --table=agents --at=NAME",
    "consumers forget --name=NAME",
    "changes --table=NAME --from=2026-01-01",
    "changes --table=agents --from=NAME",
    "changes --table=agents --from=2026-01-01 --to=NAME",
    "sync ddl --table=NAME",
    "views ddl --engine=NAME",
    "checks list --tables=NAME",
    "checks run --tables=NAME",
    "checks run --engine=NAME",
    "freshness --tables=NAME",
    "report --output=NAME",
    "report --output=report.html --people=NAME",
    "report --output=report.html --engine=NAME",
    "docs NAME",
    "validate --tables=NAME",
    "publish accept --table=NAME --because=so",
    "quarantine list --reason=NAME",
    "quarantine list --state=NAME",
    "quarantine show --record=NAME",
    "quarantine replay --record=NAME --because=so",
    "quarantine replay --record=0123 --repaired=NAME --because=so",
    "quarantine replay --reason=NAME --because=so",
    "quarantine replay --rule=NAME --because=so",
    "quarantine discard --rule=NAME --because=so",
    "quarantine NAME",
    "sizing --gb-per-day=NAME",
    "sizing --gb-per-day=10 --weights=NAME",
    "query --sql=SELECT --as-of=NAME",
    "generate --topic=NAME",
    "ingest --max-events=NAME",
    "ingest --unknown=NAME",
    "snapshot --table=NAME --server-name=erp",
    "snapshot --table=public.SALES --server-name=NAME",
    "snapshot --table=public.SALES --server-name=erp --parts=NAME",
    "NAME",
    "ingest NAME",
    "services NAME",
    "metrics --listen=NAME",
    "metrics --once --listen=NAME",
]
SOME = ("statement", "line end and more", "option", "cyrillic", "long and hostile")
MOST = 900
"""A line that lists what may be chosen, every job or every mart among it."""


@pytest.fixture(autouse=True, scope="module")
def shipped_files() -> Iterator[None]:
    """The files of the shipped lake, which are right, are read once for some hundred commands."""

    @cache
    def read(path: Path) -> LakeFiles | None:
        found = Mistakes()
        files = read_lake_files(path, found)
        assert not found.errors
        return files

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spec_file, "read_lake_files", lambda path, _found: read(path))
        yield


@pytest.fixture(autouse=True)
def empty_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("base", "landing", "jars"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(f"LAKEHOUSE_{name.upper()}_PATH", str(tmp_path / name))
    init(os.environ)
    return tmp_path


def check_refusal(command: str, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [word.replace(NAME, HOSTILE[what]) for word in command.split()]
    assert end(words) == 2, what
    output, errors = capsys.readouterr()
    (line,) = errors.splitlines()
    assert is_clear(line, most=MOST), what
    assert "jar" not in line, "it came as far as opening a session"
    assert output == "", what


@pytest.mark.parametrize("command", COMMANDS)
def test_it_is_refused_before_anything_starts(command, empty_lake, capsys):
    for what in SOME:
        check_refusal(command, what, capsys)
    assert {path.name for path in empty_lake.rglob("*")} == {"base", "landing", "jars", NAME_FILE}, "nothing was made"


@pytest.mark.parametrize("what", HOSTILE)
def test_whatever_the_name(what, empty_lake, capsys):
    check_refusal("serve --layer=fast --mart=NAME", what, capsys)


def test_every_job_that_takes_a_name_is_tried():
    without_names = {"init", "spec"}
    assert {command.split()[0] for command in COMMANDS} >= JOBS.keys() - without_names


def test_what_was_given_is_shown_so_that_it_can_be_compared_with_what_was_meant(empty_lake, capsys):
    assert end(["mart", "--layer=f\u0430st"]) == 2
    assert r"no mart is of layer 'f\u0430st'; layers are ['fast', " in capsys.readouterr().err
