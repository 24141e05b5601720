"""The connections in docs/cluster.md, which people copy, are ones that work: one for each engine."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from lakehouse_provider.launch.engine_conf import LaunchEngine, engine_of
from lakehouse_provider.launch.engines import build_job_command
from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.support.connections import Facts

COMMAND = "    airflow connections add "


def connections() -> dict[str, Facts]:
    blocks = (PROJECT_ROOT / "docs" / "cluster.md").read_text(encoding="utf-8").split("\n\n")
    found = {}
    for block in (block for block in blocks if block.startswith(COMMAND)):
        words = shlex.split(block.removeprefix(COMMAND).replace("\\\n", " "))
        options = dict(zip(words[1::2], words[2::2], strict=True))
        facts = Facts(
            options.pop("--conn-type"),
            conn_id=words[0],
            host=options.pop("--conn-host", None),
            port=int(options.pop("--conn-port", 0)) or None,
            extra_dejson=json.loads(options.pop("--conn-extra")),
        )
        assert options == {}
        found[facts.extra_dejson["engine"]] = facts
    return found


def test_every_engine_has_one() -> None:
    assert set(connections()) == set(LaunchEngine)


@pytest.mark.parametrize("engine", LaunchEngine)
def test_it_becomes_a_command(engine: LaunchEngine, tmp_path: Path) -> None:
    facts = connections()[engine]
    (tmp_path / "hudi.jar").touch()
    command = build_job_command(
        facts, ["ingest"], environment={"LAKEHOUSE_JARS_PATH": str(tmp_path)}, work_path=tmp_path
    )
    assert engine_of(facts) is engine
    assert facts.conn_id == "lakehouse_spark"
    is_elsewhere = engine is not LaunchEngine.STANDALONE
    assert bool(command.afterwards) == is_elsewhere
