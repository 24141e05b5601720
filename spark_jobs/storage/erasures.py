"""What is known of an erasure: while it goes on, of whom; afterwards, what was found and that it is gone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from spark_jobs.contracts.errors import ErasureUnfinishedError
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.filesystem import Filesystem

FOLDER = ".erasures"
_PENDING = "pending.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """An erasure that has begun: tables may name the person no more, and older file versions still do."""

    role: str
    id: str
    names: tuple[str, ...]
    found: tuple[tuple[str, str, int], ...] = ()
    """Place, what and how much, as it was found before anything was changed."""
    ledger: str = ""
    """What was known of the landing files then, as the log's commits have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One place: how much in it named the person before, and after; ``left`` 0 is what the erasure is for."""

    place: str
    what: str
    found: int
    left: int


class Erasures:
    """The files below ``<base>/.erasures``."""

    def __init__(self, settings: Settings) -> None:
        self._files = Filesystem(settings.base_path)

    def pending(self) -> Pending | None:
        """The erasure that has begun and not ended, or None."""
        return self._read(_PENDING)

    def given_up(self, role: str, id_: str) -> Pending | None:
        """The erasure of this person that was given up and has not been done since, or None."""
        return self._read(_given_up(role, id_))

    def _read(self, name: str) -> Pending | None:
        content = self._files.read(f"{FOLDER}/{name}")
        if content is None:
            return None
        fields = json.loads(content)
        found = tuple((place, what, count) for place, what, count in fields["found"])
        return Pending(**{**fields, "names": tuple(fields["names"]), "found": found})

    def has_any(self) -> bool:
        """True when a person was erased from the lake, or an erasure has begun."""
        return bool(self._files.list_files(FOLDER))

    def state(self) -> tuple[tuple[str, int], ...]:
        """The same text and times while no erasure began or ended: for who reads first and commits later."""
        return tuple((entry.path, entry.modified_ns) for entry in self._files.list_files(FOLDER))

    def begin(self, pending: Pending) -> None:
        """Record who is erased: once the names are out of the tables, only this record says what to look for."""
        self._files.write(f"{FOLDER}/{_PENDING}", json.dumps(asdict(pending)).encode())

    def finish(
        self,
        role: str,
        clock: str,
        findings: Sequence[Finding],
        notes: Sequence[str] = (),
        *,
        is_given_up: bool = False,
    ) -> str:
        """Keep the proof, which says nothing of who it was, and forget the rest; gives the proof's path.

        ``notes`` name what was not reached. Of one that ``is_given_up`` the person's names are kept, for the next try.
        """
        pending = self.pending()
        name = f"{FOLDER}/{role}-{clock[:19].replace(':', '').replace('-', '')}.json"
        places = [asdict(finding) for finding in findings]
        proof = {"role": role, "clock": clock, "places": places, "not_reached": list(notes)}
        self._files.write(name, json.dumps(proof, indent=1).encode())
        if pending and is_given_up:
            kept = _given_up(pending.role, pending.id)
            self._files.write(f"{FOLDER}/{kept}", json.dumps(asdict(replace(pending, ledger=""))).encode())
        elif pending:
            self._files.delete(f"{FOLDER}/{_given_up(pending.role, pending.id)}")
        self._files.delete(f"{FOLDER}/{_PENDING}")
        return f"{self._files.root}/{name}"


def _given_up(role: str, id_: str) -> str:
    return f"given-up-{hashlib.sha256(f'{role} {id_}'.encode()).hexdigest()[:16]}.json"


def check_no_erasure(settings: Settings) -> None:
    """Raise ErasureUnfinishedError while one has begun: its landing files are half-way, and would be read again."""
    pending = Erasures(settings).pending()
    if pending:
        raise ErasureUnfinishedError(role=pending.role)
