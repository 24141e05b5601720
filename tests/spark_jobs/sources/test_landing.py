"""Landing files one case at a time: what is read, what waits, what goes to quarantine.

Every file holds records ``{"n":1}``, ``{"n":2}``, … of eight bytes with their end of line.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from spark_jobs.sources.file_lines import read_broken
from spark_jobs.sources.file_scan import CHUNK_BYTES
from spark_jobs.sources.landing import find_oldest_unread, list_landing, pack_ledger, unpack_ledger
from spark_jobs.storage.filesystem import Filesystem
from tests.support.landings import LONG_AGO, NOW, ONE, THREE, TWO, Landing


@pytest.fixture
def landing(tmp_path: Path) -> Landing:
    return Landing(tmp_path)


def test_a_folder_that_is_not_there_has_no_files_and_is_named(tmp_path):
    message = f"there is no landing folder {tmp_path}/nowhere, so no file was read"
    assert list_landing(Filesystem(str(tmp_path / "nowhere")), ("SALES",)) == ([], (message,))
    assert list_landing(Filesystem(str(tmp_path)), ("SALES",)) == ([], ())


def test_files_beside_the_topics_folders_are_named(tmp_path):
    for name in ("b.jsonl", "a.jsonl", ".marked", "_kept", "open.tmp"):
        (tmp_path / name).write_text("{}\n")
    entries, messages = list_landing(Filesystem(str(tmp_path)), ("SALES",))
    message = "2 files beside the topics' folders are not read (a.jsonl, b.jsonl); move each into its topic's folder"
    assert (entries, messages) == ([], (message,))
    (tmp_path / "c.jsonl").write_text("")
    (tmp_path / "d.jsonl").write_text("")
    assert "4 files beside" in list_landing(Filesystem(str(tmp_path)), ("SALES",))[1][0]
    assert "(a.jsonl, b.jsonl, c.jsonl and 1 more)" in list_landing(Filesystem(str(tmp_path)), ("SALES",))[1][0]


def test_folders_are_matched_without_case_and_strangers_are_named(landing):
    for topic in ("erp.dbo.sales", "SALES", "erp.dbo.STOCK", "_tmp", ".hidden"):
        landing.put("a", ONE, topic=topic)
    entries, messages = list_landing(Filesystem(str(landing.root)), ("*.SALES", "SALES"))
    assert [Path(entry.path).parent.name for entry in entries] == ["SALES", "erp.dbo.sales"]
    assert messages == ("folder erp.dbo.STOCK matches none of the topics ['*.SALES', 'SALES'] and is not read",)


@pytest.mark.parametrize("name", [".a.jsonl", "_a.jsonl", "a.jsonl.tmp", "day=1/.part", "day=1/_SUCCESS"])
def test_files_still_being_written_are_left_alone(landing, name):
    landing.put(name, ONE)
    assert landing.read() == []


def test_files_below_the_topic_count_oldest_first(landing):
    landing.put("day=2/a", TWO, modified_ns=2 * LONG_AGO)
    landing.put("day=1/a", ONE, modified_ns=1 * LONG_AGO)
    landing.put("a", THREE, modified_ns=3 * LONG_AGO)
    assert landing.read() == [ONE, TWO, THREE]


def test_a_file_that_grows_is_read_on_from_where_it_was(landing):
    landing.put("a", ONE)
    assert landing.read() == [ONE]
    landing.put("a", ONE + TWO + THREE, modified_ns=2 * LONG_AGO)
    assert landing.read() == [TWO + THREE]
    assert landing.read() == []


def test_half_a_line_waits_for_its_end(landing):
    landing.put("a", ONE + TWO[:4], modified_ns=NOW)
    plan = landing.plan()
    assert [(chunk.start, chunk.end) for chunk in plan.chunks] == [(0, 8)]
    assert "not complete after byte 8" in plan.messages[0]
    assert landing.read() == []
    landing.put("a", ONE + TWO, modified_ns=NOW)
    assert landing.read() == [TWO]


def test_a_last_line_that_is_a_whole_record_does_not_wait(landing):
    landing.put("a", ONE + TWO[:-1])
    assert landing.read() == [ONE + TWO[:-1]]
    landing.put("a", ONE + TWO + THREE, modified_ns=2 * LONG_AGO)
    assert landing.read() == [b"\n" + THREE]


@pytest.mark.parametrize("is_gzip", [False, True])
def test_half_a_line_that_is_never_finished_goes_to_quarantine_once(landing, is_gzip):
    content = ONE + TWO[:4]
    landing.put("a", gzip.compress(content) if is_gzip else content)
    plan = landing.plan(truncated_before_ns=NOW)
    (part,) = plan.broken
    raw = read_broken(Filesystem(str(landing.root)), part)
    assert (part.offset, raw, str(part.reason)) == (8, TWO[:4], "truncated")
    assert [(chunk.start, chunk.end) for chunk in plan.chunks] == [(0, 8)]
    again = landing.plan(truncated_before_ns=NOW)
    assert (again.chunks, again.broken) == ((), ())


def test_an_unfinished_gzip_file_is_reported_wherever_it_was_cut_off(landing):
    """Between two lines too, where nothing of a record is missing: more may have been to come."""
    whole = b"".join(map(gzip.compress, (ONE, TWO, THREE)))
    ends = {len(gzip.compress(ONE)), len(gzip.compress(ONE) + gzip.compress(TWO))}
    for cut in range(2, len(whole)):
        landing.put(f"{cut}.gz", whole[:cut])
        (plan, again) = (landing.plan(truncated_before_ns=NOW) for _ in range(2))
        assert [str(part.reason) for part in plan.broken] == ([] if cut in ends else ["truncated"]), cut
        assert (again.chunks, again.broken) == ((), ())


def test_what_was_given_up_is_read_when_it_is_finished_after_all(landing):
    landing.put("a", ONE + TWO[:4])
    landing.plan(truncated_before_ns=NOW)
    landing.put("a", ONE + TWO, modified_ns=2 * LONG_AGO)
    assert landing.read() == [TWO]


@pytest.mark.parametrize("left", range(1, 12))
def test_a_gzip_file_that_ends_too_early_waits(landing, left):
    whole = gzip.compress(ONE) + gzip.compress(TWO)
    landing.put("a.gz", whole[:-left], modified_ns=NOW)
    first = landing.read()
    landing.put("a.gz", whole, modified_ns=NOW)
    assert b"".join(first + landing.read()) == ONE + TWO


def test_gzip_is_known_by_its_content_not_its_name(landing):
    landing.put("a.jsonl", gzip.compress(ONE))
    landing.put("b.gz", TWO)
    assert landing.read() == [ONE, TWO]


def test_a_damaged_gzip_file_keeps_what_came_before_and_goes_to_quarantine_once(landing):
    landing.put("a.gz", gzip.compress(ONE) + b"this is no gzip member")
    plan = landing.plan()
    assert [(chunk.start, chunk.end) for chunk in plan.chunks] == [(0, 8)]
    assert [str(part.reason) for part in plan.broken] == ["bad_file"]
    again = landing.plan()
    assert (again.chunks, again.broken) == ((), ())


def test_a_renamed_file_is_not_read_again(landing):
    path = landing.put("a", ONE + TWO)
    assert landing.read() == [ONE + TWO]
    path.rename(path.with_name("b"))
    plan = landing.plan()
    assert plan.chunks == ()
    assert "already read under another name" in plan.messages[0]
    landing.put("b", ONE + TWO + THREE, modified_ns=2 * LONG_AGO)
    assert landing.read() == [THREE]


def test_a_copy_is_not_read_again(landing):
    landing.put("a", ONE)
    landing.put("b", ONE)
    assert landing.read() == [ONE]
    landing.put("c", gzip.compress(ONE))
    assert landing.read() == []


@pytest.mark.parametrize("content", [TWO, TWO + ONE + THREE, b""])
def test_other_content_under_the_same_name_is_read_from_its_start(landing, content):
    landing.put("a", ONE)
    landing.plan()
    landing.put("a", content, modified_ns=2 * LONG_AGO)
    plan = landing.plan()
    assert [(chunk.start, chunk.end) for chunk in plan.chunks] == ([(0, len(content))] if content else [])
    assert "replaced by other content" in plan.messages[0]
    assert landing.read() == []


def test_the_cap_is_kept_and_the_rest_is_next(landing):
    landing.put("a", ONE + TWO + THREE)
    landing.put("b", THREE + TWO)
    seen = []
    while True:
        plan = landing.plan(limit=2)
        seen.append((plan.records, plan.has_more))
        if not plan.has_more:
            break
    assert seen == [(2, True), (2, True), (1, False)]


def test_a_last_line_beyond_the_cap_is_next_and_not_given_up(landing):
    landing.put("a", ONE + TWO[:-1])
    plan = landing.plan(limit=1, truncated_before_ns=NOW)
    assert ([(chunk.start, chunk.end) for chunk in plan.chunks], plan.has_more, plan.broken) == ([(0, 8)], True, ())
    assert landing.read(truncated_before_ns=NOW) == [TWO[:-1]]


def oldest(landing: Landing) -> str | None:
    files = Filesystem(str(landing.root))
    entries, _ = list_landing(files, ("SALES",))
    found = find_oldest_unread(files, entries, landing.ledger, max_records=9, truncated_before_ns=5 * LONG_AGO)
    return Path(found.path).name if found else None


def test_files_that_were_read_are_not_planned_once_more_to_find_one_that_waits(landing, monkeypatch):
    for name in ("a", "b", "c"):
        landing.put(name, name.encode() + ONE, modified_ns=LONG_AGO)
    landing.plan(truncated_before_ns=5 * LONG_AGO)
    monkeypatch.setattr("spark_jobs.sources.landing.plan_landing", lambda *_, **__: pytest.fail("it was planned"))
    assert oldest(landing) is None


def test_what_has_waited_longest_is_the_oldest_file_of_which_something_would_be_read(landing):
    """Neither one that was read, nor a copy or an empty one, nor half a line that is still awaited."""
    assert oldest(landing) is None
    landing.put("read", ONE, modified_ns=1 * LONG_AGO)
    landing.put("given up", TWO[:4], modified_ns=2 * LONG_AGO)
    landing.plan(truncated_before_ns=5 * LONG_AGO)
    landing.put("copy", ONE, modified_ns=3 * LONG_AGO)
    landing.put("empty", b"", modified_ns=4 * LONG_AGO)
    landing.put("half a line", TWO[:4], modified_ns=6 * LONG_AGO)
    assert oldest(landing) is None
    for name, content, age in (("c", THREE, 9), ("half a line", TWO, 8), ("b", TWO[:5], 4), ("read", ONE + TWO, 3)):
        landing.put(name, content, modified_ns=age * LONG_AGO)
        assert oldest(landing) == name


def test_long_files_are_cut_into_chunks_at_line_ends(landing):
    record = b'{"text":"%s"}\n' % (b"x" * 1000)
    landing.put("a", record * (2 * CHUNK_BYTES // len(record)))
    chunks = landing.plan(limit=10**6).chunks
    assert len(chunks) > 1
    assert [chunk.start for chunk in chunks[1:]] == [chunk.end for chunk in chunks[:-1]]
    assert all(chunk.end % len(record) == 0 for chunk in chunks)


def test_the_ledger_is_empty_before_the_first_commit():
    assert unpack_ledger(None) == unpack_ledger("") == {}
    assert unpack_ledger(pack_ledger({})) == {}
