"""Files and folders of any name that a file system has: read as data, or reported and left; no path of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spark_jobs.sources.landing import list_landing, pack_ledger, plan_landing, unpack_ledger
from spark_jobs.storage.filesystem import Filesystem
from tests.support.hostile_names import HOSTILE, fits_file_name

FILES = [name for name in HOSTILE.values() if fits_file_name(name) and "\ud800" not in name]
TOPICS = ("*.SALES", "SALES")


def folder(root: Path, *names: str | bytes) -> Filesystem:
    """A landing folder with these files, each of one record that is unlike the others."""
    for number, name in enumerate(names):
        path = os.path.join(os.fsencode(root), b"SALES", os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(b'{"n":%d}\n' % number)
    return Filesystem(str(root))


def test_every_name_that_a_file_can_have_is_read_and_kept_as_it_is(tmp_path):
    files = folder(tmp_path, *FILES)
    entries, messages = list_landing(files, TOPICS)
    assert messages == ()
    assert {entry.path for entry in entries} == {f"{tmp_path}/SALES/{name}" for name in FILES}
    plan = plan_landing(files, entries, {}, max_records=1000, truncated_before_ns=0)
    assert plan.records == len(FILES)
    assert {chunk.path for chunk in plan.chunks} == {entry.path for entry in entries}
    assert unpack_ledger(pack_ledger(plan.ledger)) == plan.ledger
    again = plan_landing(files, entries, plan.ledger, max_records=1000, truncated_before_ns=0)
    assert (again.records, again.messages) == (0, ())


def test_a_name_that_is_no_text_is_reported_and_stops_nothing_else(tmp_path):
    files = folder(tmp_path, "good.jsonl", b"bad\xff\xfe.jsonl", b"deep/er/bad\xff", "deep/er/good.jsonl")
    os.mkdir(os.fsencode(tmp_path) + b"/x\xff.SALES")
    entries, messages = list_landing(files, TOPICS)
    assert {entry.path for entry in entries} == {f"{tmp_path}/SALES/{name}good.jsonl" for name in ("", "deep/er/")}
    reported = {message.removeprefix(f"{tmp_path}/").partition(" is not read")[0] for message in messages}
    assert reported == {r"SALES/bad\udcff\udcfe.jsonl", r"SALES/deep/er/bad\udcff", r"x\udcff.SALES"}
    assert all(message.endswith("its name is not UTF-8; rename it") for message in messages)
    assert list_landing(files, TOPICS)[1] == messages, "each is reported once a listing"


@pytest.mark.parametrize("name", [name for name in FILES if name.lower() != "sales"])
def test_a_folder_that_is_no_topic_is_reported_on_one_line(tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "file").write_text("{}")
    entries, (message,) = list_landing(Filesystem(str(tmp_path)), TOPICS)
    assert entries == []
    assert message.isprintable()


def test_a_message_about_a_file_is_one_line(tmp_path):
    files = folder(tmp_path, "a\nb", "c\u202ed")
    entries, _ = list_landing(files, TOPICS)
    first = plan_landing(files, entries, {}, max_records=9, truncated_before_ns=0)
    folder(tmp_path, "unlike", "a\nb", "c\u202ed")
    os.truncate(tmp_path / "SALES" / "a\nb", 3)
    entries, _ = list_landing(files, TOPICS)
    plan = plan_landing(files, entries, first.ledger, max_records=9, truncated_before_ns=0)
    assert plan.messages
    assert all(message.isprintable() for message in plan.messages)
