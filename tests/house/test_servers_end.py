"""Whoever starts servers ends them: every command of local_stack that starts some does it where they are stopped.

That stopping itself leaves nothing, however the end comes, is in tests/local_stack/servers/test_guard.py.
"""

from __future__ import annotations

import ast
from pathlib import Path

import local_stack
from local_stack.__main__ import COMMANDS

FOLDER = Path(local_stack.__file__).parent
STARTS = {"start", "start_aws", "start_connect_server", "start_gateway", "start_metastore", "start_trino", "running"}
"""Functions and methods that start a server and come back while it runs."""


def names_called(module: str) -> set[str]:
    """The last parts of the names of what a module calls, the methods of ``with`` statements among them."""
    tree = ast.parse((FOLDER / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls}


def test_every_command_that_starts_servers_stops_them_however_it_ends() -> None:
    starting = {name for name, command in COMMANDS.items() if names_called(command.module) & STARTS}
    assert {"demo", "company", "cloud", "live", "up"} <= starting
    # Both words are of one module; `down` only stops.
    assert [name for name in starting if "stopping" not in names_called(COMMANDS[name].module)] == []


def test_only_a_run_folder_leaves_a_process_running() -> None:
    """A process that is neither waited for, nor of a run folder, is never stopped."""
    modules = {path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.py")}
    opened = {module for module in modules if "Popen" in names_called(module)}
    assert opened == {"servers/services", "servers/guarding", "servers/databases", "servers/keep_running"}
