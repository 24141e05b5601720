"""The demo's own folders and arrivals of generated events."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from local_stack.demos.job_command import run_job
from local_stack.errors import SetupError
from local_stack.layout import PROJECT_ROOT
from spark_jobs.contracts.results import JobResult

MARK = ".made-by-the-demo"
TOPIC = "erp.dbo.SALES"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoFolders:
    """Where the demo's lake and landing zone are."""

    base: Path
    landing: Path

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], demo: str = "demo") -> DemoFolders:
        """``data/<demo>/`` in the project, or what ``LAKEHOUSE_BASE_PATH`` and ``LAKEHOUSE_LANDING_PATH`` say."""
        paths = {}
        for name in ("base", "landing"):
            variable = f"LAKEHOUSE_{name.upper()}_PATH"
            path = environ.get(variable) or str(PROJECT_ROOT / "data" / demo / ("lake" if name == "base" else name))
            if "://" in path:
                raise SetupError(
                    f"{variable}={path}: the demo makes new data on local disk; give a local folder or unset it"
                )
            paths[name] = Path(path).absolute()
        if paths["base"] == paths["landing"]:
            raise SetupError("LAKEHOUSE_BASE_PATH and LAKEHOUSE_LANDING_PATH are the same folder; give two")
        return cls(**paths)

    def recreate(self) -> None:
        """Empty folders, each marked as the demo's. SetupError rather than touch data that the demo did not make."""
        for folder in (self.base, self.landing):
            if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / MARK).exists())):
                raise SetupError(
                    f"{folder} holds something the demo did not make; move it away, or point LAKEHOUSE_BASE_PATH and "
                    f"LAKEHOUSE_LANDING_PATH at folders for the demo"
                )
        for folder in (self.base, self.landing):
            try:
                if folder.exists():
                    shutil.rmtree(folder)
                folder.mkdir(parents=True)
                (folder / MARK).touch()
            except OSError as error:
                raise SetupError(
                    f"{folder} cannot be made again ({error.strerror}); make it writable and try again"
                ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """``events`` good events of one seeded life, delivered in ``count`` arrivals."""

    events: int
    count: int
    seed: int

    def __post_init__(self) -> None:
        if not 1 <= self.count <= self.events:
            raise SetupError(
                f"{self.events} events cannot come in {self.count} arrivals; give at least one event an arrival"
            )

    def deliver(self, number: int, environ: Mapping[str, str]) -> JobResult:
        """Write arrival ``number`` (from 1) to the landing zone; later ones go on where the last stopped."""
        size = self.events // self.count + (self.events % self.count if number == self.count else 0)
        options = ["--events", str(size), "--topic", TOPIC]
        if number == 1:
            options += ["--total-events", str(self.events), "--seed", str(self.seed)]
        else:
            options.append("--resume")
        return generate(options, environ)


def build_parser(command: str, what: str | None, *, events: int, arrivals: int) -> argparse.ArgumentParser:
    """The command line of a run on generated events; ``events`` and ``arrivals`` are its defaults."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog=f"python -m local_stack {command}", description=what)
    add = parser.add_argument
    add("--events", type=int, default=events, metavar="N", help=f"good events in all (default {events})")
    add("--arrivals", type=int, default=arrivals, metavar="N", help=f"arrivals they come in (default {arrivals})")
    add("--seed", type=int, default=7, help="the same seed gives the same events (default 7)")
    return parser


def generate(options: list[str], environ: Mapping[str, str] = os.environ) -> JobResult:
    """Run the ``generate`` job; SetupError with its own sentence when it cannot."""
    return run_job(["generate", *options], environ)
