"""Exports: where rows go as files that other programs read, and in which form."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show, show_path


class ExportFormat(StrEnum):
    """Forms of the files."""

    PARQUET = "parquet"
    CSV = "csv"


_ENDINGS = {".parquet": ExportFormat.PARQUET, ".csv": ExportFormat.CSV, ".csv.gz": ExportFormat.CSV}
_QUOTED = re.compile(r'[",\r\n]|^\s|\s$|^$', re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTarget:
    """Where an export goes: ``path`` is absolute or a URI, and ends in no slash."""

    path: str
    format: ExportFormat
    is_folder: bool
    is_gzip: bool = False
    overwrite: bool = False

    @property
    def parent(self) -> str:
        """The folder it is made in."""
        return self.path.rpartition("/")[0] or "/"

    @property
    def name(self) -> str:
        """Its name there."""
        return self.path.rpartition("/")[2]

    @property
    def ending(self) -> str:
        """The end of the names of its files."""
        return f".{self.format}{'.gz' if self.is_gzip else ''}"


def parse_target(path: str, *, format_name: str = "", overwrite: bool = False) -> ExportTarget:
    """The target that a path means: its name says the format, unless ``format_name`` does.

    Parquet is a folder of files. CSV is one file, or, when the path ends in a slash, a folder of files; they are packed
    by gzip when the name ends in ``.gz``.

    Raises:
        ContractError: the path has no name or does not say a format, or one that is not the given one.
    """
    place = path.rstrip("/")
    name = place.rpartition("/")[2]
    is_place_alone = "://" in path and "/" not in place.partition("://")[2]  # a bucket
    if not name.strip(".") or is_place_alone or not path.isprintable():
        raise ContractError(f"{show_path(path)} is no name for an export; give a file or a folder to make")
    by_name = next((form for ending, form in _ENDINGS.items() if name.lower().endswith(ending)), None)
    if format_name and format_name not in set(ExportFormat):
        raise ContractError(f"--format {show(format_name)} is unknown; give {' or '.join(ExportFormat)}")
    form = ExportFormat(format_name) if format_name else by_name
    if form is None:
        raise ContractError(
            f"{show_path(path)} does not say its format; let the name end in {', '.join(_ENDINGS)}, or give --format"
        )
    if by_name and form is not by_name:
        raise ContractError(f"{show_path(path)} is named like {by_name}, and --format says {form}; change one of them")
    return ExportTarget(
        path=re.sub(r"^s3://", "s3a://", place) if "://" in place else os.path.abspath(place),
        format=form,
        is_folder=form is ExportFormat.PARQUET or path.endswith("/"),
        is_gzip=form is ExportFormat.CSV and name.lower().endswith(".gz"),
        overwrite=overwrite,
    )


def check_apart(path: str, folders: Iterable[str]) -> None:
    """Raise ContractError when a path is in one of the folders, is one, or holds one: those are the lake's.

    Links are followed, on both sides.
    """
    place = _place(path)
    for folder in folders:
        own = _place(folder)
        if f"{place}/".startswith(f"{own}/") or f"{own}/".startswith(f"{place}/"):
            raise ContractError(
                f"{show_path(path)} and the lake's folder {show_path(folder)} are one in the other; write to another "
                f"place"
            )


def _place(path: str) -> str:
    """Where it is in the end; "" for the root of all folders."""
    if "://" in path:
        return re.sub(r"^s3://", "s3a://", path.rstrip("/"))
    return os.path.realpath(path).rstrip("/")


def check_columns(names: Iterable[str]) -> None:
    """Raise ContractError when two columns have one name, whatever its case: files cannot tell them apart."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise ContractError(f"two columns are called {show(name)}; give one of them another name with AS")
        seen.add(name.lower())


def csv_header(names: Iterable[str]) -> str:
    """The first line of a CSV, with its line end."""
    return csv_line(names) + "\n"


def csv_line(values: Iterable[str | None]) -> str:
    """One line of a CSV, without its end; None is an empty cell, and an empty text is in quotes."""
    return ",".join("" if value is None else _cell(value) for value in values)


def _cell(text: str) -> str:
    quoted = text.replace('"', '""')
    return f'"{quoted}"' if _QUOTED.search(text) else text
