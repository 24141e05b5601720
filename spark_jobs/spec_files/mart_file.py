"""Read declared marts: ``<mart>.yaml`` with the SQL beside it in ``<mart>.sql``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.contracts.names import plain, show, show_path
from spark_jobs.contracts.places import DocumentPlace, Entries, lines_of
from spark_jobs.lake_spec.freshness import FreshnessPromise
from spark_jobs.lake_spec.marts import MartMode, MartSpec, ReadSpec, TimeSpec, TimeUnit, WindowSpec
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.spec_files.comments import read_comments
from spark_jobs.spec_files.documents import build, choice, mapping, read_document, section, sequence
from spark_jobs.spec_files.mistakes import Mistakes


def load_marts(folder: Path) -> tuple[MartSpec, ...]:
    """Every mart declared in ``folder``, by file name.

    Raises:
        SettingsError: the folder or a file cannot be read.
        ContractError: a declaration contradicts itself; the message names its file and line.
    """
    return tuple(load_mart(path) for path in mart_files(folder))


def mart_files(folder: Path) -> list[Path]:
    """The files that declare a mart each; SettingsError when there is no such folder."""
    if not os.path.isdir(folder):  # unlike Path's own: False for a name that no folder can have
        raise SettingsError(f"marts: there is no folder {show_path(folder)}; correct the lake spec's entry marts")
    return sorted(folder.glob("*.yaml"))


def load_mart(path: Path) -> MartSpec:
    """The mart declared in this file and the SQL beside it; raises as :func:`load_marts` does."""
    found = Mistakes()
    mart, _ = read_mart(path, found)
    return found.checked(mart)


def read_mart(path: Path, found: Mistakes) -> tuple[MartSpec | None, Entries]:
    """The mart, None when something is wrong with its files, which is added to ``found``; and what they say.

    What they say has the lines of the SQL as ``sql``, so that these have places too.
    """
    document, sql, before = Entries(place=DocumentPlace(file=str(path))), "", len(found.errors)
    with found.of_file():
        read = read_document(path, what="mart", then="correct it", found=found)
        with found.of(document):
            document = mapping(read, "the file")
            with found.of(document):
                _check_name(document, path)
            with found.of_file():
                sql = _read_sql(path)
            mart = parse_mart(document.having({"name": path.stem}), sql)
            lines = lines_of(sql, str(path.with_suffix(".sql")))
            return mart if len(found.errors) == before else None, document.holding("sql", lines)
    return None, document


def _check_name(document: Entries, path: Path) -> None:
    if (name := document.get("name", path.stem)) != path.stem:
        raise ContractError(f"name is {show(name)}; give the file's own, {show(path.stem)}, or none", at=("name",))


def parse_mart(document: Mapping[str, Any], sql: str) -> MartSpec:
    """Build a :class:`MartSpec`; ContractError for unknown, missing or wrong entries."""
    entry, found = mapping(document, "the file"), Mistakes()
    what = f"mart {show(entry.get('name'))}"
    parts: dict[str, Any] = {"sql": sql, "mode": None, "reads": ()}
    with found.of(entry):
        if "sql" in entry:
            reason = f"{what}: its SQL is in the file beside this one; take the entry sql out"
            raise ContractError(reason, at=("sql",))
    with found.of(entry):
        parts["mode"] = choice(MartMode, entry.get("mode", MartMode.FULL), what, at=("mode",))
    with found.of(entry):
        parts["type"] = choice(TableType, entry.get("type", TableType.COPY_ON_WRITE), what, at=("type",))
    with found.of(entry):
        reads = sequence(entry.get("reads"), f"{what}: reads", at=("reads",))
        parts["reads"], _ = found.each("reads", reads, lambda read: _read(read, what))
    for name, cls in (("time", TimeSpec), ("window", WindowSpec)):
        if name in entry:
            with found.of(entry):
                parts[name] = _timed(cls, section(entry, name, f"{what}: {name}"), f"{what}: {name}")
    if "freshness" in entry:
        with found.of(entry):
            promise = section(entry, "freshness", f"{what}: freshness")
            parts["freshness"] = build(FreshnessPromise, promise, f"{what}: freshness")
    parts |= read_comments(entry, found, what)
    mart: MartSpec = build(MartSpec, entry.having(parts), what, found=found)
    return mart


def _read(entry: Any, what: str) -> ReadSpec:
    read: ReadSpec = build(ReadSpec, mapping(entry, f"{what}: a read"), f"{what}: a read")
    return read


def _timed(cls: type[TimeSpec | WindowSpec], entry: Entries, what: str) -> Any:
    """Something that has a unit of time."""
    found, unit = Mistakes(), None
    with found.of(entry):
        unit = choice(TimeUnit, entry.get("unit"), what, at=("unit",))
    return build(cls, entry.having({"unit": unit}), what, found=found)


def _read_sql(path: Path) -> str:
    """The SQL beside the mart's file."""
    file = path.with_suffix(".sql")
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        refusal = SettingsError(
            f"mart {plain(path.stem)} needs its SQL in {show_path(file)} ({reason}); write it there"
        )
        refusal.place = DocumentPlace(file=str(path))
        raise refusal from error
