"""What is reported of a driver elsewhere when spark-submit has ended: its last line, or where its log is.

spark-submit is a script here that runs the real command line as a process with the zip and nothing else, as a cluster
would, or that ends without having done so. Test of a real cluster: operators/job/test_on_yarn.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from lakehouse_provider.launch import remote_driver
from lakehouse_provider.launch.engines import build_job_command
from lakehouse_provider.launch.job_command import JobCommand
from lakehouse_provider.launch.job_process import JobExit, JobProcess
from tests.support.connections import Facts
from tests.support.launchers import launch

ID = "application_1700000000000_0001"
DRIVER = r"""#!{python}
import os, subprocess, sys
words = sys.argv[1:]
conf = dict(words[at + 1].split("=", 1) for at, word in enumerate(words) if word == "--conf")
prefix = "spark.yarn.appMasterEnv."
sent = {{name.removeprefix(prefix): value for name, value in conf.items() if name.startswith(prefix)}}
print("Submitted application {id}")
assert "PYTHONPATH" not in os.environ
at = next(number for number, word in enumerate(words) if word.endswith("entrypoint.py"))
archive = words[words.index("--py-files") + 1]
os.makedirs("{empty}", exist_ok=True)
command = [sys.executable, "-m", "spark_jobs.entrypoint", *words[at + 1 :]]
code = subprocess.run(command, cwd="{empty}", env={{**sent, "PYTHONPATH": archive}}, capture_output=True).returncode
sys.exit(1 if code else 0)
"""


@dataclass
class Cluster:
    """A `spark-submit` and a `yarn` of scripts; ``yarn_calls`` are the arguments that `yarn` got."""

    folder: Path

    def becomes(self, script: str, *, running: Sequence[str] = (ID,)) -> None:
        """``running`` are the applications that `yarn` lists."""
        self._write("spark-submit", script)
        calls, listed = self.folder / "yarn_calls", "\\n".join(f"{each}\tlakehouse" for each in running)
        self._write("yarn", f'#!/bin/sh\necho "$@" >> {calls}\ncase "$*" in *-list*) printf "{listed}\\n" ;; esac\n')

    @property
    def yarn_calls(self) -> list[str]:
        file = self.folder / "yarn_calls"
        return file.read_text().splitlines() if file.exists() else []

    def command(self, *job_line: str) -> JobCommand:
        """The command that the operator's process runs."""
        extra = {"deploy-mode": "cluster", "spark-binary": str(self.folder / "spark-submit"), "jars": "provided"}
        environment = {
            **os.environ,
            "PATH": f"{self.folder}:{os.environ['PATH']}",
            "LAKEHOUSE_BASE_PATH": str(self.folder / "lake"),
            "LAKEHOUSE_LANDING_PATH": str(self.folder / "landing"),
        }
        facts = Facts("spark", host="yarn", extra_dejson=extra)
        return build_job_command(facts, job_line, environment=environment, work_path=self.folder, attempt="a1")

    def run(self, *job_line: str) -> tuple[JobExit, list[str]]:
        """How the operator's process ends, and what it says."""
        logged: list[str] = []
        return JobProcess(self.command(*job_line), log=logged.append).run(), logged

    def _write(self, name: str, text: str) -> None:
        file = self.folder / name
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755)


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


@pytest.fixture
def working(cluster: Cluster) -> Cluster:
    cluster.becomes(DRIVER.format(python=sys.executable, id=ID, empty=cluster.folder / "empty"))
    return cluster


def test_its_last_line_is_the_result_and_its_file_is_gone(working: Cluster) -> None:
    ended, logged = working.run("spec", "check")
    assert ended.code == 0
    assert json.loads(ended.last_line)["counters"]["tables"] == 7
    assert f"Submitted application {ID}" in logged
    assert list((working.folder / "lake" / ".results").iterdir()) == []
    assert list((working.folder / "empty").iterdir()) == []
    assert working.yarn_calls == []


def test_its_error_and_exit_code_come_through_whatever_spark_submit_says(working: Cluster) -> None:
    ended, logged = working.run("ingest", "--max-events", "0")
    assert ended.code == 2
    assert ended.reason.startswith("error: ")
    assert "--max-events" in ended.reason
    assert ended.reason in logged
    assert list((working.folder / "lake" / ".results").iterdir()) == []


def test_a_driver_that_left_nothing_may_be_tried_again_and_is_stopped(cluster: Cluster) -> None:
    cluster.becomes(f"#!/bin/sh\necho Submitted application {ID}\nexit 0\n")
    ended, _ = cluster.run("ingest")
    assert ended.code == 1
    assert ended.reason == (
        f"try again: spark-submit ended with code 0 and the driver left no result; its log: "
        f"yarn logs -applicationId {ID}"
    )
    assert [line.split()[:2] for line in cluster.yarn_calls] == [["application", "-list"], ["application", "-kill"]]
    assert "-appTags lakehouse-a1" in cluster.yarn_calls[0]
    assert cluster.yarn_calls[1] == f"application -kill {ID}"


def test_an_older_attempts_result_is_not_read(cluster: Cluster) -> None:
    cluster.becomes("#!/bin/sh\nexit 1\n")
    results = cluster.folder / "lake" / ".results"
    results.mkdir(parents=True)
    (results / "a0.json").write_text('{"exit_code":0,"line":"{}"}')
    ended, _ = cluster.run("ingest")
    assert (ended.code, ended.reason) == (
        1,
        "try again: spark-submit ended with code 1 and the driver left no result; it was not started; the lines above "
        "say why",
    )


def test_a_result_that_is_none_is_reported(cluster: Cluster) -> None:
    results = cluster.folder / "lake" / ".results"
    cluster.becomes(f"#!/bin/sh\nmkdir -p {results}\necho nonsense > {results}/a1.json\n")
    ended, _ = cluster.run("ingest")
    assert ended.code == 2
    assert ended.reason.startswith("error: not the outcome of a job: 'nonsense")


def test_a_driver_ends_when_its_log_is_not_read_any_more(cluster: Cluster) -> None:
    """A killed task closes the pipe of its log a moment before the launcher can see that it is gone."""
    cluster.becomes(f"#!/bin/sh\nwhile echo application report for {ID}; do sleep 0.01; done\n")
    command = cluster.command("ingest")
    with launch(command.arguments, command.afterwards, environment=command.environment) as launcher:
        assert launcher.stderr is not None
        assert ID in launcher.stderr.readline()
        launcher.stderr.close()
    assert [line.split()[:2] for line in cluster.yarn_calls] == [["application", "-list"], ["application", "-kill"]]


def test_killing_queries_yarn_for_the_applications_of_this_attempt_alone(cluster: Cluster) -> None:
    cluster.becomes("#!/bin/sh\n")
    facts = Facts("spark", host="yarn", extra_dejson={"deploy-mode": "cluster", "jars": "provided"})
    environment = {"PATH": f"{cluster.folder}:{os.environ['PATH']}"}
    command = build_job_command(facts, ["ingest"], environment=environment, work_path=cluster.folder, attempt="a7")
    assert subprocess.run(command.afterwards, env=dict(command.environment)).returncode == 0
    assert cluster.yarn_calls == [
        "application -list -appTags lakehouse-a7 -appStates NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING",
        f"application -kill {ID}",
    ]


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_killing_ends_every_application_of_the_attempt(cluster: Cluster, count: int) -> None:
    """A driver that YARN began again has another one."""
    running = [ID.replace("_0001", f"_000{number + 1}") for number in range(count)]
    cluster.becomes("#!/bin/sh\n", running=running)
    facts = Facts("spark", host="yarn", extra_dejson={"deploy-mode": "cluster", "jars": "provided"})
    environment = {"PATH": f"{cluster.folder}:{os.environ['PATH']}"}
    command = build_job_command(facts, ["ingest"], environment=environment, work_path=cluster.folder, attempt="a7")
    assert subprocess.run(command.afterwards, env=dict(command.environment)).returncode == 0
    assert cluster.yarn_calls[1:] == ([f"application -kill {' '.join(running)}"] if running else [])


@pytest.mark.parametrize("code", [0, 3])
def test_the_exit_code_of_a_yarn_that_does_not_list_what_runs_is_passed_on_and_nothing_is_killed(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    cluster.becomes("#!/bin/sh\n", running=[])
    yarn = cluster.folder / "yarn"
    yarn.write_text(f"{yarn.read_text()}exit {code}\n", encoding="utf-8")
    monkeypatch.setenv("PATH", f"{cluster.folder}:{os.environ['PATH']}")
    assert remote_driver.main(["kill", "--yarn", "spark-class", "--tag", "lakehouse-a7"]) == code
    assert [line.split()[:2] for line in cluster.yarn_calls] == [["application", "-list"]]
