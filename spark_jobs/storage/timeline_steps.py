"""Everything that is on a timeline, by the names of its files: writes, services, rollbacks, restores, savepoints."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spark_jobs.contracts.instants import Instant
from spark_jobs.storage.timeline import Timeline

COMPLETED, INFLIGHT, REQUESTED = "completed", "inflight", "requested"
_FILE = re.compile(r"^(?P<time>\d{17})\.(?P<action>[a-z]+)(?:\.(?P<state>requested|inflight))?$")
_ORDER = (REQUESTED, INFLIGHT, COMPLETED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One instant with the furthest state that it reached, and the time of that state's file in nanoseconds."""

    time: Instant
    action: str
    state: str
    modified_ns: int

    @property
    def is_completed(self) -> bool:
        """True when it ended."""
        return self.state == COMPLETED


def steps_of(timeline: Timeline) -> tuple[Step, ...]:
    """The steps of a timeline, oldest first; a savepoint comes after the commit whose time it has."""
    found: dict[tuple[Instant, bool], Step] = {}
    for name, entry in timeline.entries.items():
        if not (match := _FILE.match(name)):
            continue
        time, action, state = Instant(match["time"]), match["action"], match["state"] or COMPLETED
        if action == INFLIGHT:  # version 6 names a commit's second state without its action
            action, state = "commit", INFLIGHT
        key = (time, action == "savepoint")
        known = found.get(key)
        if known is None or _ORDER.index(state) > _ORDER.index(known.state):
            # What a compaction ends as is called commit: its plan says what it was.
            found[key] = Step(time=time, action=action, state=state, modified_ns=entry.modified_ns)
    return tuple(found[key] for key in sorted(found))


def pending_steps(timeline: Timeline) -> tuple[Step, ...]:
    """Those that were begun and did not end, by the account of the timeline itself."""
    if not timeline.pending:
        return ()
    return tuple(step for step in steps_of(timeline) if step.time in timeline.pending and not step.is_completed)
