"""An event has one identity, whoever reads it and however often: jobs decode by the epochs that the log knows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from spark_jobs.contracts.settings import PROJECT_ROOT
from spark_jobs.lake_spec.origins import Epoch, SourceBook, Stream
from spark_jobs.pipelines.sources import decoding_spec
from spark_jobs.sources.envelope import EnvelopeDecoder
from tests.support.envelopes import START_MS, line, sqlserver
from tests.support.shop import shop

DECODES = {"decode": 1, "decode_records": 0}
"""Calls that decode events, with the place of the lake spec among their arguments."""


def specs_that_decode(tree: ast.AST) -> list[str]:
    """What calls that decode events give as the lake spec."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            is_of_events = name == "decode_records" or (node.args and "spark" in ast.unparse(node.args[0]))
            if len(node.args) == 2 and name in DECODES and is_of_events:
                found.append(ast.unparse(node.args[DECODES[name]]))
    return found


def given_to_batches(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """Functions that decode by the spec that :func:`checked_batch` calls them with, and by no other."""
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and "checked_batch" in ast.unparse(node.func)
    ]
    names = {ast.unparse(call.args[2]).rpartition(".")[2] for call in calls}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in names and node.args.args[-1].arg == "spec":
            assert not any(isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store) for each in ast.walk(node))
            yield node


def test_every_job_decodes_by_the_epochs_of_the_log():
    paths = [path for layer in ("jobs", "pipelines") for path in Path(PROJECT_ROOT, "spark_jobs", layer).rglob("*.py")]
    trees = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    found = {name: specs for name, tree in trees.items() if (specs := specs_that_decode(tree))}
    assert {*found} == {"intake", "replay", "rereading"}
    by_batch = {
        name: [spec for function in given_to_batches(trees[name]) for spec in specs_that_decode(function)]
        for name in found
    }
    assert by_batch == {"intake": ["spec"], "replay": ["spec"], "rereading": []}
    others = [spec for name, specs in found.items() for spec in specs if spec not in by_batch[name]]
    assert len(others) == 1
    assert [spec for spec in others if not spec.startswith("decoding_spec(")] == []


def test_a_batch_is_decoded_by_the_epochs_of_the_log():
    """The only call of the function that a batch is given."""
    tree = ast.parse(Path(PROJECT_ROOT, "spark_jobs", "pipelines", "ingestion", "batch.py").read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "decode"]
    assert [ast.unparse(call) for call in calls] == ["decode(decoding_spec(spec, book))"]


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
