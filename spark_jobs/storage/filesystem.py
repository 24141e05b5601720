"""Files outside Spark: listing, reading and atomic writing on any filesystem pyarrow knows."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from spark_jobs.contracts.errors import LakehouseError, SettingsError, TransientError
from spark_jobs.contracts.names import show, spell
from spark_jobs.storage.s3 import endpoint_of, is_s3, region_of, split_uri

_TEMPORARY = ".tmp"
_ABANDONED_SECONDS = 60
"""A temporary file that did not change for so long is of a writer that died: they are written in one go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """One file: its path on the filesystem, size in bytes and time of last change in nanoseconds since 1970."""

    path: str
    size: int
    modified_ns: int


class Filesystem:
    """A folder tree below ``root`` (a local path or a URI; ``s3a://`` is read as ``s3://``)."""

    def __init__(self, root: str) -> None:
        from pyarrow import fs

        try:
            if is_s3(root) and (endpoint := endpoint_of()):
                scheme, _, host = endpoint.rstrip("/").partition("://")
                self._fs = fs.S3FileSystem(endpoint_override=host, scheme=scheme, region=region_of() or None)
                self.root = "/".join(filter(None, split_uri(root)))
            elif "://" in root:
                self._fs, self.root = fs.FileSystem.from_uri(root.replace("s3a://", "s3://", 1))
            else:
                self._fs, self.root = fs.LocalFileSystem(), os.path.abspath(root)
        except (OSError, ValueError) as error:
            raise _cannot_open(root, error) from error
        self.unreadable: list[str] = []
        """Paths that were left out of listings: their names are not UTF-8, so no table could hold them."""
        self.is_local = isinstance(self._fs, fs.LocalFileSystem)
        self._selector = fs.FileSelector
        self._file, self._absent = fs.FileType.File, fs.FileType.NotFound

    def _at(self, path: str) -> str:
        return f"{self.root}/{path}" if path else self.root

    def list_files(self, path: str = "", *, recursive: bool = False) -> list[FileEntry]:
        """Files below ``path``, by path; a folder that does not exist is empty."""
        entries = [info for info in self._infos(path, recursive=recursive) if info.type == self._file]
        return sorted(
            (FileEntry(path=info.path, size=info.size, modified_ns=info.mtime_ns or 0) for info in entries),
            key=lambda entry: entry.path,
        )

    def find_file(self, path: str) -> FileEntry | None:
        """The file of this name below the root; None when there is none, or it is a folder."""
        info = self._fs.get_file_info(self._at(path))
        is_file = info.type == self._file
        return FileEntry(path=info.path, size=info.size, modified_ns=info.mtime_ns or 0) if is_file else None

    def folders(self, path: str = "") -> list[str]:
        """Names of the folders directly below ``path``."""
        return sorted(info.base_name for info in self._infos(path) if info.type != self._file)

    def make_folder(self, path: str) -> None:
        """Make a folder below the root, with those above it; nothing happens when it is there.

        FileExistsError when a file is in its place.
        """
        try:
            self._fs.create_dir(self._at(path), recursive=True)
        except (PermissionError, NotADirectoryError) as error:
            raise _cannot("write", self._at(path), error) from error

    def _infos(self, path: str, *, recursive: bool = False) -> list[Any]:
        selector = self._selector(self._at(path), allow_not_found=True, recursive=recursive)
        try:
            infos = self._fs.get_file_info(selector)
            return sorted(infos, key=lambda info: info.path)
        except UnicodeDecodeError:  # pyarrow gives names as text alone
            return list(self._walk(selector.base_dir, recursive=recursive))
        except (PermissionError, NotADirectoryError) as error:
            raise _cannot("read", selector.base_dir, error) from error

    def _walk(self, folder: str, *, recursive: bool) -> Iterator[Any]:
        """What a local folder holds, but for names that are not UTF-8."""
        with os.scandir(folder) as found:
            entries = list(found)
        for entry in entries:
            try:
                entry.name.encode()
            except UnicodeEncodeError:
                if (path := spell(entry.path)) not in self.unreadable:
                    self.unreadable.append(path)
                continue
            yield self._fs.get_file_info(entry.path)
            if recursive and entry.is_dir():
                yield from self._walk(entry.path, recursive=True)

    def read(self, path: str) -> bytes | None:
        """The content of a file below the root, or None when there is none."""
        try:
            with self._fs.open_input_stream(self._at(path), compression=None) as stream:
                content: bytes = stream.read()
                return content
        except FileNotFoundError:
            return None

    def open(self, absolute_path: str) -> Any:
        """A seekable binary file over a listed path, as stored."""
        try:
            return self._fs.open_input_file(absolute_path)
        except PermissionError as error:
            raise _cannot("read", absolute_path, error) from error

    def create(self, path: str) -> Any:
        """A stream of bytes into a new file below the root, of which readers may see a part until it is closed."""
        target = self._at(path)
        try:
            if self.is_local:
                self._fs.create_dir(os.path.dirname(target), recursive=True)
            return self._fs.open_output_stream(target, compression=None)
        except (PermissionError, NotADirectoryError, FileExistsError) as error:
            raise _cannot("write", target, error) from error

    def write(self, path: str, content: bytes) -> None:
        """Replace a file below the root in one step: readers see the old or the new content, never a part.

        What a writer of the same file left that died halfway is removed once it is old.
        """
        target = self._at(path)
        try:
            if not self.is_local:
                with self._fs.open_output_stream(target, compression=None) as stream:
                    stream.write(content)
                return
            self._fs.create_dir(os.path.dirname(target), recursive=True)
            temporary = f"{target}.{uuid.uuid4().hex}{_TEMPORARY}"
            with open(temporary, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
            _remove_abandoned(target)
        except (PermissionError, NotADirectoryError, FileExistsError) as error:
            raise _cannot("write", target, error) from error

    def newest_change(self, path: str) -> int:
        """When something below ``path`` last changed, in nanoseconds since 1970; 0 when there is nothing."""
        return max((info.mtime_ns or 0 for info in self._infos(path, recursive=True)), default=0)

    def move(self, path: str, new: str) -> None:
        """Give a file another name, in place of a file that has it; a folder too, but not on an object store."""
        try:
            self._fs.move(self._at(path), self._at(new))
        except PermissionError as error:
            raise _cannot("write", self._at(new), error) from error

    def delete(self, path: str) -> None:
        """Remove a file below the root; nothing happens when there is none."""
        with suppress(FileNotFoundError):
            self._fs.delete_file(self._at(path))

    def changed_ns(self, path: str) -> int | None:
        """When a file or folder last changed, in nanoseconds since 1970; None when it is not there."""
        info = self._fs.get_file_info(self._at(path))
        return None if info.type == self._absent else int(info.mtime_ns or 0)

    def has_folder(self, path: str = "") -> bool:
        """True when a folder is there, on an object store when something is in it or it was made.

        It is listed first: a role that may read all that is in a folder need not be allowed an object of its name.
        """
        return bool(self._infos(path)) or self.changed_ns(path) is not None

    def set_changed_ns(self, path: str, changed_ns: int) -> None:
        """Set when a local file last changed; SettingsError when it is another user's."""
        try:
            os.utime(self._at(path), ns=(changed_ns, changed_ns))
        except PermissionError as error:
            raise _cannot("write", self._at(path), error) from error

    def delete_tree(self, path: str = "") -> None:
        """Remove a folder (the root itself by default) and everything in it."""
        self._fs.delete_dir(self._at(path))


def _remove_abandoned(target: str) -> None:
    """Remove the temporary files of writers of ``target`` that died before they gave them its name."""
    folder, name = os.path.split(target)
    with os.scandir(folder) as found:
        for entry in found:
            if entry.name.startswith(f"{name}.") and entry.name.endswith(_TEMPORARY):
                with suppress(FileNotFoundError):  # its writer lives, and has just given it its name
                    if time.time() - entry.stat().st_mtime > _ABANDONED_SECONDS:
                        os.unlink(entry.path)


def _cannot_open(root: str, error: OSError | ValueError) -> LakehouseError:
    """Without a variable that says where a bucket is, it is looked up: a request that may fail at a bad moment."""
    if is_s3(root) and isinstance(error, OSError) and "not found" not in str(error):
        return TransientError(f"path {show(root)} could not be looked up ({error}); run again later")
    return SettingsError(f"path {show(root)} cannot be used ({error}); correct the setting")


def _cannot(what: str, path: str, error: OSError) -> SettingsError:
    reason = os.strerror(error.errno) if error.errno else "no permission"
    return SettingsError(f"cannot {what} {path} ({reason}); give the user {what} access or set another path")
