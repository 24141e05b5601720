"""A small run of the generator, read back from its files by a reader that knows nothing of the generator."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.generator.generation import Outcome, generate
from spark_jobs.generator.request import Request

CLOCK = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)
DEEPEST = 20
"""Levels of a record; scalars count as one."""


@dataclass
class Topic:
    """What is in a topic: every line, the good ones in order of delivery, tombstones, broken lines by reason."""

    lines: list[bytes] = field(default_factory=list)
    good: list[dict[str, Any]] = field(default_factory=list)
    tombstones: int = 0
    broken: Counter[str] = field(default_factory=Counter)

    @cached_property
    def distinct(self) -> list[dict[str, Any]]:
        """Good events in the source's own order, each once."""
        by_position = {position(event): event for event in self.good}
        return [by_position[key] for key in sorted(by_position)]


def position(event: dict[str, Any]) -> tuple[str, str, int]:
    """The source's own order of an event, from its LSNs."""
    source = event["source"]
    return source["commit_lsn"], source["change_lsn"] or "00000000:00000000:0000", source["event_serial_no"]


class DuplicateKeyError(ValueError):
    """Two members of a JSON object have the same name."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise DuplicateKeyError
    return dict(pairs)


def _depth(value: Any) -> int:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max((_depth(child) for child in children), default=0)


def _parse(line: bytes) -> tuple[str, Any]:
    try:
        record = json.loads(line.decode("utf-8"), object_pairs_hook=_unique)
        is_shallow = line.count(b"{") + line.count(b"[") < DEEPEST
        depth = 0 if is_shallow else _depth(record)
    except UnicodeDecodeError:
        return "not_utf8", None
    except DuplicateKeyError:
        return "duplicate_key_in_json", None
    except RecursionError:
        return "nested_too_deep", None
    except ValueError:
        return "not_json", None
    return ("nested_too_deep", None) if depth > DEEPEST else ("", record)


def _reason_of_row(row: dict[str, Any]) -> str:
    if row.get("SaleId") is None:
        return "missing_key"
    if any(isinstance(value, str) and len(value) > 10_000 for value in row.values()):
        return "text_too_long"
    subtotal, signed_ms = row["ContractSubtotal"], row["ContractSigningDate"]
    if subtotal is not None:
        whole, _, fraction = subtotal.partition(".")
        if not (whole.isdigit() and len(whole) <= 14 and fraction.isdigit() and len(fraction) <= 4):
            return "bad_decimal"
    is_date = signed_ms is None or (isinstance(signed_ms, int) and 0 < signed_ms < 4_000_000_000_000)
    return "" if is_date else "bad_timestamp"


def _judge(line: bytes) -> tuple[str, Any]:
    reason, record = _parse(line)
    if reason or record is None:
        return reason, record
    if "payload" in record:
        record = record["payload"]
        if record is None:
            return "null_payload", None
    if record["op"] not in ("c", "r", "u", "d"):
        return "unknown_op", None
    return _reason_of_row(record["before" if record["op"] == "d" else "after"]), record


def read_lines(folder: Path) -> list[bytes]:
    """All lines of a topic's files in their order."""
    content = b""
    for path in sorted(folder.iterdir()):
        content += gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    assert content.endswith(b"\n")
    return content[:-1].split(b"\n")


def read_topic(folder: Path) -> Topic:
    """Sort a topic's lines out."""
    topic = Topic(lines=read_lines(folder))
    for line in topic.lines:
        reason, event = _judge(line)
        if reason:
            topic.broken[reason] += 1
        elif event is None:
            topic.tombstones += 1
        else:
            topic.good.append(event)
    return topic


def read_truth(outcome: Outcome) -> dict[str, Any]:
    """The truth a call left."""
    truth: dict[str, Any] = json.loads(gzip.decompress(outcome.truth.read_bytes()))
    return truth


@dataclass
class Made:
    """A finished run: how it ended, what it left, what its truth says."""

    outcome: Outcome
    topic: Topic
    truth: dict[str, Any]


Make = Callable[..., Made]


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Make a run in a landing folder of its own, or in the one given."""

    def make_run(landing: Path | None = None, **options: Any) -> Made:
        outcome = generate(Request(clock=CLOCK, **options), landing or tmp_path_factory.mktemp("landing"))
        return Made(outcome=outcome, topic=read_topic(outcome.folder), truth=read_truth(outcome))

    return make_run


@pytest.fixture(scope="session")
def life(make: Make) -> Made:
    """8,000 events with everything that can happen happening often."""
    rates = {"partial": 0.2, "correction": 0.05, "late": 0.1, "redelivery": 0.05, "delete": 0.04, "broken": 0.01}
    return make(events=8_000, seed=7, rates=rates, events_per_file=1_500)
