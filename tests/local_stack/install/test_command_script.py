"""The script of the environment that runs the project's command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from local_stack.install.command_script import write_command


def test_the_script_runs_the_tree_wherever_it_is_called_from(tmp_path: Path) -> None:
    venv, tree = tmp_path / "venv", tmp_path / "it's a tree"
    package = tree / "spark_jobs" / "command"
    package.mkdir(parents=True)
    (package / "app.py").write_text("def main():\n    print('here')\n")
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to(sys.executable)
    assert write_command(venv, tree)
    assert not write_command(venv, tree)
    script = venv / "bin" / "lakehouse"
    assert os.access(script, os.X_OK)
    done = subprocess.run([str(script)], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "here\n"), done.stderr
    script.write_text("of another tree")
    assert write_command(venv, tree)
