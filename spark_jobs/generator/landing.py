"""Files of the landing zone, as a connector's sink leaves them: written under a hidden name, then renamed."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from spark_jobs.contracts.errors import SettingsError

GENERATOR_FOLDER = "_generator"
"""Beside the topics; the leading underscore keeps readers of the landing zone away."""


class LandingFile:
    """One file of a topic, named by the offset of its first record; it appears whole when the context ends well."""

    def __init__(self, folder: Path, *, topic: str, offset: int, is_gzip: bool) -> None:
        name = f"{topic}+0+{offset:010d}.jsonl{'.gz' if is_gzip else ''}"
        self.path, self._hidden, self._is_gzip = folder / name, folder / f".{name}.tmp", is_gzip

    def __enter__(self) -> LandingFile:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[bytes] = self._hidden.open("wb")
        self._sink: Any = gzip.GzipFile("", "wb", 3, self._file, mtime=0) if self._is_gzip else self._file
        return self

    def write(self, records: Iterable[str]) -> None:
        """Append records, one a line; a lone surrogate of the text is written as the byte it encodes."""
        self._sink.write("".join(f"{record}\n" for record in records).encode("utf-8", "surrogateescape"))

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._sink is not self._file:
            self._sink.close()
        self._file.close()
        if kind is None:
            os.replace(self._hidden, self.path)
        else:
            self._hidden.unlink(missing_ok=True)


def write_document(path: Path, document: dict[str, Any]) -> None:
    """Write a gzipped JSON document in one step: whoever reads it sees the old one or the new one."""
    hidden = path.with_name(f".{path.name}.tmp")
    path.parent.mkdir(parents=True, exist_ok=True)
    with hidden.open("wb") as file, gzip.GzipFile("", "wb", 1, file, mtime=0) as sink:
        sink.write(json.dumps(document, separators=(",", ":")).encode("ascii"))
    os.replace(hidden, path)


def read_document(path: Path) -> dict[str, Any]:
    """Read what :func:`write_document` wrote; SettingsError when it is damaged."""
    try:
        with gzip.open(path, "rb") as file:
            document: dict[str, Any] = json.loads(file.read())
    except (EOFError, ValueError, gzip.BadGzipFile) as error:
        raise SettingsError(f"{path} is damaged ({error}); remove it and the topic's folder") from error
    return document
