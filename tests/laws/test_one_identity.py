"""An event has one identity, whoever reads it and however often: jobs decode by the epochs that the log knows."""

from __future__ import annotations

import ast
from pathlib import Path

from spark_jobs.contracts.settings import PROJECT_ROOT
from spark_jobs.lake_spec.origins import Epoch, SourceBook, Stream
from spark_jobs.pipelines.sources import decoding_spec
from spark_jobs.sources.envelope import EnvelopeDecoder
from tests.support.envelopes import START_MS, line, sqlserver
from tests.support.shop import shop

DECODES = {"decode": 1, "decode_records": 0}
"""Calls that decode events, with the place of the lake spec among their arguments."""


def specs_that_decode(text: str) -> list[str]:
    """What calls that decode events give as the lake spec."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            is_of_events = name == "decode_records" or (node.args and "spark" in ast.unparse(node.args[0]))
            if len(node.args) == 2 and name in DECODES and is_of_events:
                found.append(ast.unparse(node.args[DECODES[name]]))
    return found


def test_every_job_decodes_by_the_epochs_of_the_log():
    paths = [path for layer in ("jobs", "pipelines") for path in Path(PROJECT_ROOT, "spark_jobs", layer).rglob("*.py")]
    found = {path.stem: specs for path in paths if (specs := specs_that_decode(path.read_text(encoding="utf-8")))}
    assert {*found} == {"intake", "replay", "rereading"}
    assert [spec for specs in found.values() for spec in specs if not spec.startswith("decoding_spec(")] == []


def test_an_event_of_a_newer_epoch_has_another_identity_without_it():
    record = sqlserver("u", {"No": 1}, 5)
    event = EnvelopeDecoder(shop()).decode(line(record))
    assert event is not None
    stream = event.origin.rpartition("/")[0]
    book = SourceBook(streams={stream: Stream(epochs=(Epoch(number=1, since=START_MS - 1),))})
    first, again = (EnvelopeDecoder(decoding_spec(shop(), book)).decode(line(record)) for _ in range(2))
    assert first is not None
    assert first == again
    assert first.event_id != event.event_id
    assert EnvelopeDecoder(decoding_spec(shop(), SourceBook())).decode(line(record)) == event
