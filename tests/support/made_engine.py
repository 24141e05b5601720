"""Carries out Hudi's procedures on tables that were made by hand, where what is called in which order is the point.

What the procedures themselves do to real tables is shown by the tests that are marked ``hudi``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_TABLE = re.compile(r"CREATE TABLE IF NOT EXISTS (\S+) USING hudi LOCATION '([^']+)'")
_CALL = re.compile(r"CALL (\w+)\(table => '([^']+)'(.*)\)", re.DOTALL)
_GIVEN = re.compile(r"(\w+) => '?([^',]*)'?")


@dataclass
class MadeEngine:
    """A fake session that makes savepoints and restores them. ``calls`` are those that were made."""

    folders: dict[str, Path] = field(default_factory=dict)
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    """Procedure, table and instant."""
    fails_at: int | None = None
    """The call at which the process dies, counted from 0."""

    def sql(self, text: str) -> MadeEngine:
        if made := _TABLE.fullmatch(text):
            self.folders[made[1]] = Path(made[2])
            return self
        called = _CALL.fullmatch(text)
        assert called, text
        folder, given = self.folders[called[2]], dict(_GIVEN.findall(called[3]))
        if self.fails_at == len(self.calls):
            raise KeyboardInterrupt
        getattr(self, f"_{called[1]}")(folder / ".hoodie", **given)
        self.calls.append((called[1], folder.name, next(iter(given.values()), "")))
        return self

    def collect(self) -> list[Any]:
        return []

    def _create_savepoint(self, timeline: Path, *, commit_time: str) -> None:
        assert any(timeline.glob(f"{commit_time}.*commit")), "a savepoint is of a commit"
        assert not (timeline / f"{commit_time}.savepoint").exists()
        (timeline / f"{commit_time}.savepoint").touch()

    def _delete_savepoint(self, timeline: Path, *, instant_time: str) -> None:
        (timeline / f"{instant_time}.savepoint").unlink()

    def _rollback_to_savepoint(self, timeline: Path, *, instant_time: str) -> None:
        assert (timeline / f"{instant_time}.savepoint").exists(), "not kept"
        later = [file for file in timeline.glob("[0-9]*") if file.name.partition(".")[0] > instant_time]
        assert not [file for file in later if file.name.endswith(".savepoint")], "Hudi refuses to pass a savepoint"
        for file in later:
            file.unlink()

    def _run_clean(self, timeline: Path, **_: str) -> None:
        """Rolls back what writers began whose heartbeat is over, as Hudi does before it cleans."""
        for file in [*timeline.glob("*.requested"), *timeline.glob("*.inflight")]:
            instant, action, *_state = file.name.split(".")
            is_done = any(timeline.glob(f"{instant}.*commit"))
            if (
                action in ("commit", "deltacommit", "inflight")
                and not is_done
                and not (timeline / ".heartbeat" / instant).exists()
            ):
                file.unlink()
