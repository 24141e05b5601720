"""Pairs of crashes on a folder and a storage of Python: each chosen pair is tried, whatever states they leave."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.faults.pairs import Pairs
from tests.faults.stops import Stops, every_point
from tests.faults.verdicts import Point

pytestmark = pytest.mark.faults
FILES = ("a", "b", "c")


class StoppedError(Exception):
    """The storage takes no more."""


@dataclass
class MadeStorage:
    """Knows operations by the file that is made; stops at one of them."""

    operations: list[str] = field(default_factory=list)
    stop: tuple[str, bool] = ("", False)
    is_reached: bool = False

    @contextmanager
    def recording(self, _folder: Path) -> Iterator[None]:
        self.operations, self.stop, self.is_reached = [], ("", False), False
        yield

    @contextmanager
    def stopping(self, folder: Path, operation: str, *, is_done: bool) -> Iterator[None]:
        with self.recording(folder):
            self.stop = (operation, is_done)
            yield
            self.stop = ("", False)

    def make(self, file: Path) -> None:
        name = f"write {file.name}"
        self.operations.append(name)
        if self.stop[0] == name:
            self.is_reached = True
            if self.stop[1]:
                file.touch()
            raise StoppedError
        file.touch()


@dataclass(frozen=True)
class MadeTrial:
    """Makes three files, those that are missing; what is there afterwards is known by ``looks``."""

    storage: MadeStorage
    base: Path
    looks: list[str]
    kind: str = "made"

    def act(self) -> None:
        for name in FILES:
            if not (self.base / name).exists():
                self.storage.make(self.base / name)

    def look(self, operation: str, *, stuck: str, seconds: float) -> Point:
        self.looks.append(operation)
        assert {file.name for file in self.base.iterdir()} == set(FILES)
        return Point(kind=self.kind, operation=operation, seconds=seconds, stuck=stuck)

    def go_on(self, point: Point) -> Point:
        return point


def test_every_pair_is_tried_also_after_one_that_left_a_known_state(tmp_path: Path) -> None:
    storage, looks = MadeStorage(), list[str]()

    def copy(name: str) -> MadeTrial:
        base = tmp_path / name
        base.mkdir()
        return MadeTrial(storage, base, looks)

    switch: Any = storage
    tried = Pairs(Stops(switch), tmp_path / "left").try_all("made", copy, 2, 3, every_point())
    assert [point.wrong for point in tried.points] == [""] * len(tried.points)
    assert len(looks) == len(tried.points) > 2
