"""Dumps of a database of this machine, written and restored by the programs that its server brings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from local_stack.servers.databases import PASSWORD, USER, Server


@dataclass(frozen=True, slots=True)
class _Programs:
    """``dump`` and ``restore``: a program and its options, in which ``{file}`` and ``{database}`` are filled in."""

    dump: tuple[str, ...]
    restore: tuple[str, ...]
    login: tuple[str, ...]
    password: str
    """The variable that the programs read it from: everybody may read a command line."""


_PROGRAMS = {
    "postgresql": _Programs(
        dump=("pg_dump", "--format=custom", "--file={file}", "{database}"),
        restore=("pg_restore", "--exit-on-error", "--dbname={database}", "{file}"),
        login=("--host={folder}", "--port={port}", f"--username={USER}"),
        password="PGPASSWORD",
    ),
    "mariadb": _Programs(
        dump=("mariadb-dump", "--single-transaction", "--result-file={file}", "{database}"),
        restore=("mariadb", "--execute=source {file}", "{database}"),
        login=("--socket={folder}/socket", f"--user={USER}"),
        password="MYSQL_PWD",
    ),
}


def dump(server: Server, database: str) -> Path:
    """Write a database into a file in the server's folder and give its path. SetupError when that fails."""
    file = server.folder / f"{database}.dump"
    _run(server, _PROGRAMS[server.name].dump, database, file)
    return file


def restore(server: Server, database: str, file: Path) -> None:
    """Fill an empty database from the dump of a server of the same kind. SetupError when that fails."""
    _run(server, _PROGRAMS[server.name].restore, database, file)


def _run(server: Server, command: tuple[str, ...], database: str, file: Path) -> None:
    programs = _PROGRAMS[server.name]
    facts = {"file": file, "database": database, "folder": server.folder, "port": server.port or 5432}
    name, *options = (part.format(**facts) for part in command)
    login = [part.format(**facts) for part in programs.login]
    server.run(server.program(name), *login, *options, environ={programs.password: PASSWORD})
