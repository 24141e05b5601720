"""``.venv/bin/lakehouse``: the command of this project, as a script of its environment."""

from __future__ import annotations

from pathlib import Path

from local_stack.layout import PROJECT_ROOT, VENV


def write_command(venv: Path = VENV, root: Path = PROJECT_ROOT) -> bool:
    """Make the script, or make it again when it is another; True when there was something to do.

    The project is not installed as a package there: what runs is the tree as it is.
    """
    script = venv / "bin" / "lakehouse"
    text = _text(venv, root)
    if script.is_file() and script.read_text(encoding="utf-8") == text:
        return False
    script.write_text(text, encoding="utf-8")
    script.chmod(0o755)
    return True


def _text(venv: Path, root: Path) -> str:
    return f"""#!{venv}/bin/python
# Made by make setup: the command of the project in that folder.
import sys

sys.path.insert(0, {str(root)!r})

from spark_jobs.command.app import main

main()
"""
