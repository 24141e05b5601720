"""What a plan says of landing files, read: the lines of a chunk, and the bytes that will never be one."""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.contracts.rejections import Reason
from spark_jobs.sources.file_blocks import CutOffError, DamagedError, iter_blocks, iter_lines, iter_range
from spark_jobs.sources.file_scan import Chunk
from spark_jobs.sources.kept_bytes import TooLarge
from spark_jobs.sources.landing_plan import BrokenPart
from spark_jobs.storage.filesystem import Filesystem


def iter_chunk(files: Filesystem, chunk: Chunk) -> Iterator[tuple[int, bytes | TooLarge]]:
    """Each line of a chunk and its place; what is left of a line that was too large is too large as well."""
    with files.open(chunk.path) as file:
        blocks = iter_range(file, chunk.start, chunk.end, chunk.member)
        is_inside = chunk.is_inside
        for at, line in iter_lines(blocks, chunk.start):
            if is_inside and line and isinstance(line, bytes):
                yield at, TooLarge.of(line)
            else:
                yield at, line
            is_inside = False


def read_broken(files: Filesystem, part: BrokenPart) -> bytes:
    """The bytes of a part; the path's where there are none.

    They are at most what a record may have: of more, a line that is too large was made before.
    """
    with files.open(part.path) as file:
        if part.size:
            return b"".join(iter_range(file, part.offset, part.offset + part.size, part.member))
        try:
            if part.reason is Reason.BAD_FILE:
                for _ in iter_blocks(file, part.offset, part.member):
                    continue
        except CutOffError:
            pass
        except DamagedError as error:
            return error.raw or part.path.encode()
    return part.path.encode()
