"""The file of a report: written whole or not at all, and never over something else."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from pathlib import Path

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.exports import check_apart
from spark_jobs.contracts.names import show, show_path
from spark_jobs.lake_report.page import MARK

_HEAD = 4096
_SUFFIX = ".html"


def check_output(output: str, *, overwrite: bool, folders: Iterable[str]) -> Path:
    """The path of a report.

    Args:
        output: as it was given.
        overwrite: an earlier report there is replaced.
        folders: the lake's own, local ones or URIs.

    Raises:
        ContractError: it cannot be one, or something is there that may not be replaced.
    """
    if "://" in output or not output.endswith(_SUFFIX) or not output.isprintable():
        raise ContractError(f"--output {show(output)} is no file on this machine that ends in {_SUFFIX}; name one")
    path = Path(os.path.abspath(output))
    check_apart(str(path), folders)
    _check_free(path, overwrite=overwrite)
    return path


def write_file(text: str, path: Path, *, overwrite: bool) -> None:
    """Write the report in one step; ContractError when that cannot be, or something came to its place meanwhile."""
    staged = path.with_name(f".{path.name[:100]}.{uuid.uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            staged.write_text(text, encoding="utf-8")
            _check_free(path, overwrite=overwrite)
            if overwrite:
                staged.replace(path)
            else:
                _link(staged, path)
        finally:
            staged.unlink(missing_ok=True)
    except OSError as error:
        raise ContractError(
            f"{show_path(path)} cannot be written ({error.strerror}); give another file with --output"
        ) from error


def _check_free(path: Path, *, overwrite: bool) -> None:
    try:
        if not path.exists() and not path.is_symlink():
            return
        if not overwrite:
            raise _taken(path)
        is_report = path.is_file() and not path.is_symlink() and MARK in _head(path)
    except OSError as error:
        raise ContractError(
            f"{show_path(path)} cannot be read ({error.strerror}); give another file with --output"
        ) from error
    if not is_report:
        raise ContractError(f"{show_path(path)} is no report, so it is not replaced; give another file with --output")


def _link(staged: Path, path: Path) -> None:
    """The file under its name, unless something has it."""
    try:
        os.link(staged, path)
    except FileExistsError as error:
        raise _taken(path) from error


def _head(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_HEAD).decode("utf-8", "replace")


def _taken(path: Path) -> ContractError:
    return ContractError(f"{show_path(path)} exists; give another file, or --overwrite to replace a report")
