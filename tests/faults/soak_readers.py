"""Three readers beside a lake at work: each look must show a whole state, and none older than the look before."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from tests.faults.small_lakes import Units
from tests.faults.verdicts import attempt

Seen = Counter[tuple[int, int]]
Look = Callable[[], Seen]
"""The sales with their units, by one reader."""
_PAUSE_SECONDS = 0.5
_MOST_WRONG = 20


class States:
    """What the table is to be after each turn; the newest one may be on its way."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._states: list[Seen] = []

    def add(self, units: Units) -> None:
        """From now on this one may be seen."""
        with self._lock:
            self._states.append(Counter(units.items()))

    def find(self, seen: Seen, since: int) -> int | None:
        """Which one it is, of those from ``since`` on; None when it is none of them."""
        with self._lock:
            return next((at for at in range(since, len(self._states)) if self._states[at] == seen), None)

    def __len__(self) -> int:
        with self._lock:
            return len(self._states)


class Readers:
    """Look by turns in a thread of their own, for the block of a ``with``."""

    def __init__(self, looks: Mapping[str, Look], states: States) -> None:
        self._looks, self._states = looks, states
        self._last = dict.fromkeys(looks, 0)
        self._is_done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="soak-readers", daemon=True)
        self.looks: Counter[str] = Counter()
        """How often each has looked."""
        self.wrong: list[str] = []

    def __enter__(self) -> Readers:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_done.set()
        self._thread.join()

    def look(self, reader: str) -> None:
        """One look of one of them."""
        begun, answers = time.monotonic(), list[Seen]()
        if error := attempt(lambda: answers.append(self._looks[reader]())):
            self._say(f"{reader} failed: {error}")
            return
        self.looks[reader] += 1
        (seen,) = answers
        found = self._states.find(seen, self._last[reader])
        if found is None:
            older = self._states.find(seen, 0)
            what = f"{len(seen)} rows of no state" if older is None else f"state {older} after {self._last[reader]}"
            self._say(f"{reader} saw {what}, in {time.monotonic() - begun:.1f} s")
        else:
            self._last[reader] = found

    def _say(self, wrong: str) -> None:
        if len(self.wrong) < _MOST_WRONG:
            self.wrong.append(wrong)

    def _run(self) -> None:
        names: Sequence[str] = list(self._looks)
        while not self._is_done.wait(_PAUSE_SECONDS):
            for name in names:
                if not self._is_done.is_set():
                    self.look(name)
