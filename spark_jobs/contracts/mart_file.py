"""Read declared marts: ``<mart>.yaml`` with the SQL beside it in ``<mart>.sql``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spark_jobs.contracts.documents import build, choice, mapping, read_document, sequence
from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.contracts.freshness import FreshnessPromise
from spark_jobs.contracts.marts import MartMode, MartSpec, ReadSpec, TimeSpec, TimeUnit, WindowSpec
from spark_jobs.contracts.names import plain, show, show_path
from spark_jobs.contracts.tables import TableType


def load_marts(folder: Path) -> tuple[MartSpec, ...]:
    """Every mart declared in ``folder``, by file name.

    Raises:
        SettingsError: the folder or a file cannot be read.
        ContractError: a declaration contradicts itself; the message names its file.
    """
    if not os.path.isdir(folder):  # unlike Path's own: False for a name that no folder can have
        raise SettingsError(f"marts: there is no folder {show_path(folder)}; correct the lake spec's entry marts")
    return tuple(load_mart(path) for path in sorted(folder.glob("*.yaml")))


def load_mart(path: Path) -> MartSpec:
    """The mart declared in this file and the SQL beside it; raises as :func:`load_marts` does."""
    document = read_document(path, what="mart", then="correct it")
    try:
        values = dict(mapping(document, "the file"))
        if values.get("name") != path.stem:
            raise ContractError(f"name is {show(values.get('name'))}; give the file's own name, {show(path.stem)}")
        return parse_mart(values, _read_sql(path.with_suffix(".sql")))
    except ContractError as error:
        raise ContractError(f"{plain(path.name)}: {error}") from error


def parse_mart(document: Mapping[str, Any], sql: str) -> MartSpec:
    """Build a :class:`MartSpec`; ContractError for unknown, missing or wrong entries."""
    values, what = dict(document), f"mart {show(document.get('name'))}"
    if "sql" in values:
        raise ContractError(f"{what}: its SQL stands in the file beside this one; take the entry sql out")
    values["mode"] = choice(MartMode, values.get("mode"), what)
    values["type"] = choice(TableType, values.get("type", TableType.COPY_ON_WRITE), what)
    reads = [mapping(read, f"{what}: a read") for read in sequence(values.get("reads"), f"{what}: reads")]
    values["reads"] = tuple(build(ReadSpec, read, f"{what}: a read") for read in reads)
    for name, cls in (("time", TimeSpec), ("window", WindowSpec)):
        if name in values:
            entry = dict(mapping(values[name], f"{what}: {name}"))
            entry["unit"] = choice(TimeUnit, entry.get("unit"), f"{what}: {name}")
            values[name] = build(cls, entry, f"{what}: {name}")
    if "freshness" in values:
        promise = mapping(values["freshness"], f"{what}: freshness")
        values["freshness"] = build(FreshnessPromise, promise, f"{what}: freshness")
    mart: MartSpec = build(MartSpec, {**values, "sql": sql}, what)
    return mart


def _read_sql(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(
            f"mart {plain(path.stem)} needs its SQL in {show_path(path)} ({reason}); write it there"
        ) from error
