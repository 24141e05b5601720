"""Secrets that can be looked for: in files, in a database, in the command lines of every process."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from urllib.parse import quote, quote_plus

import sqlalchemy as sa

from tests.support.processes import command_line

_PAUSE_SECONDS = 0.1


def new_canary() -> str:
    """A secret that is used nowhere else; with what a URL must escape."""
    return f"canary/{secrets.token_hex(8)}+@{secrets.token_hex(4)}"


def forms_of(canary: str) -> tuple[bytes, ...]:
    """How it may be written: as it is, as part of a URL, in base64, as hexadecimal digits."""
    raw = canary.encode()
    texts = {canary, quote(canary, safe=""), quote(canary), quote_plus(canary), raw.hex()}
    return (*(text.encode() for text in texts), base64.b64encode(raw).rstrip(b"="))


def canaries_in(content: bytes, canaries: Mapping[str, str]) -> list[str]:
    """Names of those that are in it, in any form."""
    return [name for name, canary in canaries.items() if any(form in content for form in forms_of(canary))]


def search_files(folder: Path, canaries: Mapping[str, str], *, but: Collection[str] = ()) -> dict[str, list[str]]:
    """Files below the folder with what was found in each; ``but`` are names of files that are left out."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in but and (names := canaries_in(path.read_bytes(), canaries)):
            found[str(path.relative_to(folder))] = names
    return found


def search_database(url: str, canaries: Mapping[str, str]) -> dict[str, list[str]]:
    """Tables of a PostgreSQL database with what was found in the text of their rows."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    found = {}
    with engine.connect() as connection:
        for table in sa.inspect(engine).get_table_names():
            rows = connection.exec_driver_sql(f'SELECT t::text FROM "{table}" t').scalars()
            if names := sorted({name for row in rows for name in canaries_in(row.encode(), canaries)}):
                found[table] = names
    return found


@contextmanager
def watching_command_lines() -> Iterator[set[str]]:
    """Every command line on this machine from here to the end of the block, as any user could see it."""
    seen: set[str] = set()
    is_over = Event()

    def watch() -> None:
        while not is_over.wait(_PAUSE_SECONDS):
            seen.update(command_line(int(path.name)) for path in Path("/proc").glob("[0-9]*"))

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        is_over.set()
        thread.join()
