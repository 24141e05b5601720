"""A call of the generator from beginning to end: plan, files of the topic, truth and state beside them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.generator.delivery import Delivery
from spark_jobs.generator.landing import GENERATOR_FOLDER, LandingFile, read_document, write_document
from spark_jobs.generator.life import Life
from spark_jobs.generator.plan import Plan
from spark_jobs.generator.request import Request

_LOG = logging.getLogger(__name__)
_BATCH = 1_000
_PROGRESS_SECONDS = 10.0
_STATE_VERSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a call made: ``counters`` of this call, paths of the topic's folder, the truth and the state."""

    plan: Plan
    counters: dict[str, int]
    folder: Path
    truth: Path
    state: Path


def generate(request: Request, landing: Path) -> Outcome:
    """Deliver the next events of a run into the landing zone.

    A new run's state is written before its first file, and after a call its files come first, then the truth, then the
    state. So after a call that was killed, the same one with ``is_resume`` writes the same files. ContractError for
    options that make no sense, SettingsError when files cannot be written.
    """
    folder = landing / request.topic
    truth, state = (landing / GENERATOR_FOLDER / f"{request.topic}.{what}.json.gz" for what in ("truth", "state"))
    try:
        plan, delivery = _open(request, folder, state)
        events = request.events_of_call(left=plan.total_events - delivery.truth.events)
        counters = _write_files(delivery, request, folder, events=events)
        write_document(truth, delivery.truth.report())
        write_document(state, _state_of(plan, delivery))
    except OSError as error:
        raise SettingsError(
            f"cannot use {error.filename or landing} ({error.strerror}); "
            f"set LAKEHOUSE_LANDING_PATH to a folder you may write to"
        ) from error
    counters |= {"events_so_far": delivery.truth.events, "events_left": plan.total_events - delivery.truth.events}
    return Outcome(plan=plan, counters=counters, folder=folder, truth=truth, state=state)


def _open(request: Request, folder: Path, state: Path) -> tuple[Plan, Delivery]:
    if request.is_resume and state.exists():
        return _go_on(request, state)
    if state.exists():
        raise ContractError(f"{state} holds a run; go on with --resume, use another --topic, or remove it and {folder}")
    if folder.exists() and any(folder.iterdir()):
        raise ContractError(f"{folder} has files of another origin; use another --topic, or remove them")
    plan = request.new_plan()
    delivery = Delivery(plan, Life.begin(plan))
    request.events_of_call(left=plan.total_events)
    write_document(state, _state_of(plan, delivery))
    return plan, delivery


def _state_of(plan: Plan, delivery: Delivery) -> dict[str, Any]:
    return {"version": _STATE_VERSION, "plan": plan.to_state(), "delivery": delivery.to_state()}


def _go_on(request: Request, state: Path) -> tuple[Plan, Delivery]:
    document = read_document(state)
    if document.get("version") != _STATE_VERSION:
        raise ContractError(f"{state} is of another version of the generator; remove it and the topic's folder")
    plan = Plan.from_state(document["plan"])
    request.check_same_run(plan)
    if document["delivery"]["truth"]["events"] < plan.total_events:
        return request.same_plan(plan), Delivery.from_state(plan, document["delivery"])
    longer = request.longer_plan(plan)
    delivery = Delivery.from_state(longer, document["delivery"])
    delivery.life.go_on(delivery.life.segment.followed_by(longer))
    return longer, delivery


def _write_files(delivery: Delivery, request: Request, folder: Path, *, events: int) -> dict[str, int]:
    began, first_offset, broken = delivery.truth.events, delivery.offset, delivery.truth.broken.total()
    a_file, files, size, report = request.events_of_file(events), 0, 0, _progress(events)
    while (left := events - (delivery.truth.events - began)) > 0:
        with LandingFile(folder, topic=request.topic, offset=delivery.offset, is_gzip=request.is_gzip) as file:
            end = delivery.truth.events + min(a_file, left)
            while delivery.truth.events < end:
                file.write(delivery.deliver(min(_BATCH, end - delivery.truth.events)))
                report(delivery.truth.events - began)
        files, size = files + 1, size + file.path.stat().st_size
    return {
        "events": events,
        "records": delivery.offset - first_offset,
        "broken": delivery.truth.broken.total() - broken,
        **{name: delivery.counts[name] for name in ("redelivered", "late", "tombstones")},
        "files": files,
        "bytes": size,
    }


def _progress(events: int) -> Callable[[int], None]:
    last = time.monotonic()

    def report(done: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _PROGRESS_SECONDS:
            last = time.monotonic()
            _LOG.info("generate: %d of %d events written", done, events)

    return report
