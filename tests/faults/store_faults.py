"""What an object store does to requests: it refuses, resets, breaks off, delays and repeats them, as a seed says.

A request is known by what it does, to which object and how often that came before: ``PUT /t/.hoodie/<instant>.commit
#1``. Instants, ids and numbers of tasks are others in every run and no part of that, as in FaultyFileSystem.scala. So a
seed does the same to the same request, whatever else is on its way at that moment.

*Stops*: from one request that changes something on no other one is taken. *Weather*: requests of all kinds fail now and
then, and a few in a row at most, as those of a store that is slow or behind a bad network.
"""

from __future__ import annotations

import random
import re
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import parse_qsl, unquote

CHANGES = frozenset({"PUT", "POST", "DELETE", "COPY"})
_UNLIKE = (
    (re.compile(r"(attempt|task)_\d+_\d+_m_\d+(_\d+)?"), r"<\1>"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}"), "<id>"),
    (re.compile(r"\d{17}"), "<instant>"),
    (re.compile(r"_\d+-\d+-\d+"), "_<task>"),
)
_RENEWED = re.compile(r"(PUT|POST) .*/(\.hoodie/\.heartbeat/<instant>|\.leases/[^/]+)")
"""What a timer writes again and again: how often it does depends on the machine."""


class Fault(StrEnum):
    """What happens to a request."""

    ERROR = "500, and not carried out"
    SLOW_DOWN = "503 SlowDown"
    RESET = "reset, and not carried out"
    DELAYED = "carried out late, unless the client has given up"
    LOST = "carried out, and the answer lost"
    ERROR_AFTER = "carried out, and 500 answered"
    TRUNCATED = "carried out, and the answer breaks off"
    REPEATED = "carried out twice, and the second answer given"
    LATE = "carried out, the answer lost, and carried out again seconds later"


WEIGHTS: Mapping[Fault, int] = {fault: 1 for fault in Fault if fault is not Fault.LATE}
"""How often each comes, to any request. A write without a condition that came late would replace what came after it."""
CONDITIONAL: Mapping[Fault, int] = {**WEIGHTS, Fault.LOST: 4, Fault.REPEATED: 4, Fault.LATE: 4}
"""To writes on a condition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a client wants: ``keys`` are what a removal of many names, below the bucket."""

    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[str, ...] = ()

    @property
    def is_conditional(self) -> bool:
        return self.method == "PUT" and not self.headers.keys().isdisjoint({"if-match", "if-none-match"})

    @property
    def action(self) -> str:
        """The method; a copy is written like an object and is none."""
        return "COPY" if "x-amz-copy-source" in self.headers else self.method

    @property
    def path(self) -> str:
        """``/bucket/key``; of a removal of many that of the first, of a list what its keys begin with."""
        path, _, query = self.target.partition("?")
        below = self.keys[:1] or [value for name, value in parse_qsl(query) if name == "prefix"]
        return "/".join((unquote(path).rstrip("/"), *below)) if below else unquote(path)

    def name_below(self, folder: str) -> str:
        """What it does, to which object below the folder; the same in every run."""
        words = sorted({name for name, _ in parse_qsl(self.target.partition("?")[2], keep_blank_values=True)})
        name = f"{self.action} {self.path.removeprefix(folder) or '/'}{'?' if words else ''}{'&'.join(words)}"
        for pattern, word in _UNLIKE:
            name = pattern.sub(word, name)
        return name


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """How many of the requests fail, and in which way: the same ones for the same seed."""

    seed: int
    rate: float = 0.05
    conditional_rate: float = 0.3
    most_in_a_row: int = 2
    """Of requests of one name. Clients of Python and Rust try three times."""
    longest_delay: float = 1.5

    def fault(self, request: Request, key: str) -> Fault | None:
        """What happens to the request of this key, if anything does."""
        rng = random.Random(f"{self.seed}/{key}")
        weights, rate = (CONDITIONAL, self.conditional_rate) if request.is_conditional else (WEIGHTS, self.rate)
        return rng.choices(list(weights), list(weights.values()))[0] if rng.random() < rate else None

    def seconds(self, key: str) -> float:
        """How long it takes, when it is late."""
        return random.Random(f"{self.seed}/late/{key}").uniform(0.0, self.longest_delay)


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens to one request."""

    fault: Fault | None = None
    seconds: float = 0.0


CALM = Decision()


class Switch:
    """Decides what happens to each request below one folder of the store; all others go through."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folder, self._stop_at, self._is_done_at = "", "", False
        self._weather: Weather | None = None
        self._seen: Counter[str] = Counter()
        self._in_a_row: Counter[str] = Counter()
        self._changes: list[str] = []
        self._is_hit = False
        self.faults: Counter[Fault] = Counter()
        """How many of each came since it was armed."""

    def stop(self, folder: str, at: str = "", *, is_done: bool = False) -> None:
        """From the request ``at`` on ("": none) take no more that changes something below ``/bucket/folder``.

        ``is_done``: that one is carried out, and only its answer is lost.
        """
        with self._lock:
            self._arm(folder)
            self._stop_at, self._is_done_at = at, is_done

    def blow(self, folder: str, weather: Weather) -> None:
        """Let requests below ``/bucket/folder`` fail as the weather says."""
        with self._lock:
            self._arm(folder)
            self._weather = weather

    def disarm(self) -> None:
        """Everything goes through; what was recorded stays."""
        with self._lock:
            self._folder, self._stop_at, self._weather = "", "", None

    @property
    def operations(self) -> list[str]:
        """The requests that change something, in the order in which they came since it was armed."""
        with self._lock:
            return list(self._changes)

    @property
    def is_reached(self) -> bool:
        """True when it came to the request at which it was to stop."""
        with self._lock:
            return self._is_hit

    def decide(self, request: Request) -> Decision:
        """What happens to a request that has come."""
        with self._lock:
            folder = self._folder
            if not folder or not f"{request.path}/".startswith(f"{folder}/"):
                return CALM
            name = request.name_below(folder)
            self._seen[name] += 1
            is_renewal = self._seen[name] > 1 and _RENEWED.fullmatch(name) is not None
            key = f"{name} #{self._seen[name]}"
            decision = self._blown(request, name, key) if self._weather else self._stopped(request, key, is_renewal)
            if decision.fault:
                self.faults[decision.fault] += 1
            return decision

    def _arm(self, folder: str) -> None:
        self._folder, self._stop_at, self._is_done_at, self._weather = folder.rstrip("/"), "", False, None
        self._is_hit = False
        for seen in (self._seen, self._in_a_row, self.faults):
            seen.clear()
        self._changes.clear()

    def _stopped(self, request: Request, key: str, is_renewal: bool) -> Decision:
        if request.action not in CHANGES:
            return CALM
        was_hit = self._is_hit
        if not is_renewal:
            self._changes.append(key)
            self._is_hit = was_hit or key == self._stop_at
        if was_hit or (self._is_hit and not self._is_done_at):
            return Decision(Fault.SLOW_DOWN)
        return Decision(Fault.LOST) if self._is_hit else CALM

    def _blown(self, request: Request, name: str, key: str) -> Decision:
        assert self._weather is not None
        fault = self._weather.fault(request, key) if self._in_a_row[name] < self._weather.most_in_a_row else None
        self._in_a_row[name] = self._in_a_row[name] + 1 if fault else 0
        return Decision(fault, self._weather.seconds(key)) if fault else CALM
