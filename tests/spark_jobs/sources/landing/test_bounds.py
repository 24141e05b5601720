"""What one run reads is bounded by records and bytes, whatever is in the landing folder; nothing holds the rest up."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path

import pytest

from spark_jobs.sources import file_blocks, file_scan
from spark_jobs.sources import landing as landing_module
from spark_jobs.sources.file_lines import iter_chunk
from spark_jobs.sources.file_scan import LedgerEntry, scan_here
from spark_jobs.sources.kept_bytes import TooLarge
from spark_jobs.sources.landing import RECORD_BYTES, pack_ledger, unpack_ledger
from spark_jobs.storage.filesystem import Filesystem
from tests.support.landings import LONG_AGO, ONE, TWO, Landing


@pytest.fixture
def landing(tmp_path: Path) -> Landing:
    return Landing(tmp_path)


def test_a_run_is_bounded_by_bytes_and_the_rest_is_next(landing):
    """Three hundred records of 20 KB are more than they may have, and each run reads some of them."""
    record = b'{"text":"%s"}\n' % (b"x" * 20_000)
    landing.put("a", record * 400)
    landing.put("b", ONE)
    seen = []
    while True:
        plan = landing.plan(limit=300)
        seen.append(plan.records)
        assert sum(chunk.end - chunk.start for chunk in plan.chunks) <= 300 * RECORD_BYTES + 2**20 + len(record)
        if not plan.has_more:
            break
    assert sum(seen) == 401
    assert seen[0] < 300


def test_files_are_looked_through_side_by_side_and_read_in_their_order(landing, monkeypatch):
    """As many as there is room for; the one at which it ends is looked through once more."""
    monkeypatch.setattr(landing_module, "_WAVE_BYTES", 3 * 26)
    for number in range(7):
        landing.put(f"{number}", ONE + TWO + b'{"n":"%d"}\n' % number, modified_ns=number + 1)
    waves, read = [], []

    def scan(files, orders):
        waves.append([Path(order.entry.path).name for order in orders])
        return scan_here(files, orders)

    while True:
        plan = landing.plan(limit=4, scan=scan)
        read += [(Path(chunk.path).name, chunk.start) for chunk in plan.chunks]
        assert plan.records <= 4
        if not plan.has_more:
            break
    assert sorted({name for name, _ in read}) == [f"{number}" for number in range(7)]
    assert [name for name, _ in read] == sorted(name for name, _ in read)
    assert len(waves[0]) == 3


def test_of_a_backlog_each_run_looks_through_about_what_it_takes(landing, monkeypatch):
    """Twenty files of three records, six records a run: who looked at all that waits would look 110 times."""
    monkeypatch.setattr(landing_module, "_RECORD_BYTES_STORED", 9)
    monkeypatch.setattr(landing_module, "_LEAST_WAVE_BYTES", 1)
    for number in range(20):
        landing.put(f"{number:02}", ONE + TWO + b'{"n":"%02d"}\n' % number, modified_ns=number + 1)
    looked, read, has_more = 0, list[str](), True

    def scan(files, orders):
        nonlocal looked
        looked += len(orders)
        return scan_here(files, orders)

    while has_more:
        plan = landing.plan(limit=6, scan=scan)
        read += [Path(chunk.path).name for chunk in plan.chunks]
        has_more = plan.has_more
    assert read == [f"{number:02}" for number in range(20)]
    assert looked <= 20 + 10, "a file more for each run"


def test_a_line_that_never_ends_does_not_hold_up_what_comes_after_it(landing, monkeypatch):
    for module in (file_scan, file_blocks):
        monkeypatch.setattr(module, "MAX_KEPT_BYTES", 20)
    landing.put("a", b"x" * 50)
    landing.put("b", ONE)
    plan = landing.plan()
    assert [(chunk.start, chunk.end) for chunk in plan.chunks] == [(0, 50), (0, 8)]
    assert (plan.broken, plan.messages, landing.read()) == ((), (), [])
    landing.put("a", b"x" * 50 + b'{"n":9}\n' + TWO, modified_ns=2 * LONG_AGO)
    (chunk,) = landing.plan().chunks
    assert (chunk.start, chunk.is_inside) == (50, True)
    first, second = iter_chunk(Filesystem(str(landing.root)), chunk)
    assert isinstance(first[1], TooLarge), "it is the rest of a line, whatever it looks like"
    assert second == (58, TWO[:-1])


def test_a_ledger_of_an_earlier_release_is_read():
    old = base64.b64encode(zlib.compress(json.dumps({"a": [8, 1, 8, "ab"]}).encode())).decode()
    assert unpack_ledger(old) == {"a": LedgerEntry(size=8, modified_ns=1, consumed=8, digest="ab")}
    entry = LedgerEntry(size=8, modified_ns=1, consumed=8, digest="ab", stored=3, start=2, is_inside=True)
    assert unpack_ledger(pack_ledger({"b": entry})) == {"b": entry}
