"""Servers that take a process's place: their command lines, and how they replace the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from local_stack.layout import PROJECT_ROOT
from local_stack.servers import serve
from local_stack.servers.services import Program

BECOME = """
import sys
from pathlib import Path
from local_stack.servers.services import Program
command = ["sh", "-c", "echo $$ $WORD $PWD; exec sleep 60"]
variables = {"WORD": "hello", "PATH": "/usr/bin:/bin"}
Program(name="x", command=command, environment=variables, cwd=Path(sys.argv[1]), port=1).become()
"""


def test_a_program_takes_the_process_over_and_gets_its_signals(tmp_path: Path):
    command = [sys.executable, "-c", BECOME, str(tmp_path)]
    with subprocess.Popen(command, cwd=PROJECT_ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().split() == [str(process.pid), "hello", str(tmp_path)]
        process.terminate()
        assert process.wait() == -signal.SIGTERM


@pytest.mark.parametrize(
    ("words", "ends"),
    [
        (["master", "--host", "here", "--port", "7"], ["--host", "here", "--port", "7", "--webui-port"]),
        (["worker", "--master", "spark://m:1", "--cores", "3"], ["--cores", "3", "--memory", "2g", "spark://m:1"]),
        (["metastore", "--port", "9"], ["-p", "9"]),
    ],
)
def test_words_become_the_servers_own(words: list[str], ends: list[str], tmp_path: Path):
    command = " ".join(serve.build(serve.parse(words), tmp_path).command)
    assert " ".join(ends) in command


def test_a_server_that_is_not_known_lists_the_known(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        serve.parse(["dance"])
    message = capsys.readouterr().err
    assert all(name in message for name in ("connect", "metastore", "master", "worker"))


def test_a_worker_needs_its_master(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        serve.parse(["worker"])
    assert "--master" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--help"], ["connect", "--help"], ["worker", "--help"]])
def test_help_at_both_levels(words: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        serve.parse(words)
    assert ended.value.code == 0
    assert "python -m local_stack serve" in capsys.readouterr().out


def test_what_it_keeps_is_in_a_folder_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    became: list[Program] = []

    def become(program: Program) -> None:
        became.append(program)
        sys.exit(0)

    monkeypatch.setenv("LAKEHOUSE_RUN_PATH", str(tmp_path))
    monkeypatch.setattr(Program, "become", become)
    with pytest.raises(SystemExit):
        serve.run(["metastore"])
    (program,) = became
    assert program.cwd == tmp_path / "metastore" / "metastore"
    assert os.access(program.cwd, os.W_OK)
