"""What ``ingest --again`` is to read once more: topics, files, or ranges of offsets, each by a name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from spark_jobs.contracts.arguments import names_of
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show

_RANGE = re.compile(r"(?P<topic>[^/:]+)/(?P<partition>[0-9]{1,9})(:(?P<first>[0-9]{1,18})-(?P<last>[0-9]{1,18})?)?")
_FORMS = (
    "give a topic (erp.dbo.SALES), a file or a pattern of files (erp.dbo.SALES/2026-*.jsonl), or offsets of a "
    "partition (erp.dbo.SALES/0:100-250)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetRange:
    """Offsets of one partition, both ends included; without ``last`` as far as it was read."""

    topic: str
    partition: int
    first: int = 0
    last: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """What is read again. ``topics`` and ``files`` are patterns: of names, and of paths below the landing path."""

    topics: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    ranges: tuple[OffsetRange, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Again:
        """Read the option: a list with commas. ContractError when a part of it is no such thing."""
        topics, files, ranges = list[str](), list[str](), list[OffsetRange]()
        for part in names_of(text):
            if match := _RANGE.fullmatch(part):
                ranges.append(_range_of(part, match))
            elif ":" in part or part.startswith("/") or ".." in part.split("/"):
                raise ContractError(f"--again {show(part)} names nothing that can be read again; {_FORMS}")
            else:
                (files if "/" in part else topics).append(part)
        if not (topics or files or ranges):
            raise ContractError(f"--again names nothing; {_FORMS}")
        return cls(topics=tuple(topics), files=tuple(files), ranges=tuple(ranges))

    def has_file(self, path: str) -> bool:
        """True for a file of the landing path, by its path there, whose first folder is its topic."""
        topic = path.partition("/")[0]
        return self.has_topic(topic) or any(fnmatchcase(path, pattern) for pattern in self.files)

    def has_topic(self, topic: str) -> bool:
        """True for a topic that is to be read as a whole, compared without case as topics are."""
        return any(fnmatchcase(topic.lower(), pattern.lower()) for pattern in self.topics)


def _range_of(part: str, match: re.Match[str]) -> OffsetRange:
    first, last = int(match["first"] or 0), int(match["last"]) if match["last"] else None
    if last is not None and last < first:
        raise ContractError(f"--again {show(part)} ends before it begins; give the first offset, then the last")
    return OffsetRange(topic=match["topic"], partition=int(match["partition"]), first=first, last=last)
