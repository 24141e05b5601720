"""Lakes for the eye: pictures of the lake page are taken of them, and the checks in a browser look at them.

All tables of the shipped spec have commits of ten minutes ago and earlier, unless a state says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.instants import Instant
from spark_jobs.overview.kinds import kinds_of
from spark_jobs.overview.models import TableKind
from spark_jobs.quality.holds import Holds
from spark_jobs.quality.verdicts import Outcome, Verdict, to_metadata
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState
from spark_jobs.storage.lake_names import make_lake
from tests.support.incidents import ago
from tests.support.lakes import read_shipped_spec, write_spec
from tests.support.seen_lakes import SPEC, START, SeenLake, expectation, minute

MANY = 200
_OF_LOG = (TableKind.TABLE, TableKind.HISTORY, TableKind.DELETED)
_STEPS = 24
"""Commits of each table, ten minutes apart."""


def empty(folder: Path) -> SeenLake:
    """It was made, and no job has run."""
    lake = SeenLake(folder)
    _make(lake)
    return lake


def at_rest(folder: Path) -> SeenLake:
    """Everything ran, and has read everything."""
    lake = empty(folder)
    _write_all(lake)
    return lake


def running(folder: Path) -> SeenLake:
    """An ingest has just ended, a split and a compaction are at work."""
    lake = at_rest(folder)
    lake.write("sales_log", ago(1), rows=900, newest_event_time=_now())
    for table in ("units", "sales"):
        instant = minute(ago(0))
        lake.table(table).pending(int(instant), "deltacommit")
        beat = lake.table(table).folder / ".hoodie/.heartbeat" / instant
        beat.parent.mkdir()
        beat.touch()
    lake.table("agents").pending(int(minute(ago(0))), "compaction")
    return lake


def failed(folder: Path) -> SeenLake:
    """A table is held, of another one an expectation has failed."""
    lake = at_rest(folder)
    stopped = Verdict(expectation=expectation("sales", "price"), checked=1200, broken=3, outcome=Outcome.STOPPED)
    since = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=5)
    Holds(lake.settings).hold("sales", "split", [stopped], since)
    warned = Verdict(expectation=expectation("units", "id"), checked=500, broken=4, outcome=Outcome.WARNED)
    quality = to_metadata({"written": 500}, [warned])
    log = lake.table("sales_log").look().timeline.newest
    lake.write("units", ago(8), action="deltacommit", rows=500, quality=quality, read={"sales_log": str(log)})
    return lake


def expired(folder: Path) -> SeenLake:
    """A reader outside is at a place that the timeline has no more."""
    lake = at_rest(folder)
    lake.consumer("report", sales=minute(ago(60 * 24 * 9)))
    return lake


def many(folder: Path) -> SeenLake:
    """Two hundred tables."""
    folder.mkdir(parents=True, exist_ok=True)
    document = read_shipped_spec()
    first = document["tables"][0]
    shipped = len(SPEC.table_names)
    document["tables"] += [{**first, "name": f"{first['name']}_{number}"} for number in range(MANY - shipped)]
    path = write_spec(folder, document)
    lake = SeenLake(folder, spec=load_lake_spec(str(path)))
    _make(lake)
    _write_all(lake)
    return lake


SHOWN: Mapping[str, Callable[[Path], SeenLake]] = {
    "at-rest": at_rest,
    "running": running,
    "failed": failed,
    "expired": expired,
    "empty": empty,
    "many": many,
}


def variables_of(lake: SeenLake) -> dict[str, str]:
    """The settings that lead to it."""
    spec = lake.folder / "sales.yaml"
    places = {"LAKEHOUSE_BASE_PATH": lake.settings.base_path, "LAKEHOUSE_LANDING_PATH": lake.settings.landing_path}
    return {**places, "LAKEHOUSE_LAKE_SPEC": str(spec)} if spec.exists() else places


def _make(lake: SeenLake) -> None:
    make_lake(lake.spec.lake, lake.settings, may_adopt=True)
    (lake.folder / "landing").mkdir(exist_ok=True)


def _write_all(lake: SeenLake) -> None:
    """Steps of the log, of what is made of it, and of marts over these, in the order in which jobs write them."""
    spec, newest = lake.spec, dict[str, Instant]()
    for name, kind in kinds_of(spec).items():
        sources = _sources(lake, name, kind)
        action = "deltacommit" if lake.table(name).layout.is_merged else "commit"
        steps = _STEPS if len(spec.table_names) < MANY else 2
        for step in reversed(range(steps)):
            read = {source: newest[source] for source in sources if source in newest} if step == 0 else {}
            rows = 40 + 7 * ((len(name) * 31 + step * 17) % 90)
            more = {"newest_event_time": _now()} if kind is TableKind.LOG else {}
            newest[name] = lake.write(name, ago(10 + 10 * step), action=action, rows=rows, read=read, **more)
        for number in range(1 + len(name) % 4) if kind is not TableKind.QUARANTINE else ():
            size = 9_000_000 + 1_700_000 * ((len(name) * 13 + number * 29) % 40)
            lake.table(name).base(f"f-{number}", int(newest[name]), size=size)
    registry = ConsumerRegistry(lake.settings.base_path)
    log = newest[spec.log]
    of_log = {name: newest[name] for name, kind in kinds_of(spec).items() if kind in _OF_LOG}
    registry.write("split", ConsumerState(checkpoints={spec.log: log}, tables=of_log), START)
    for mart in spec.mart_names:
        if mart in newest:
            read = {source: newest[source] for source in _sources(lake, mart, TableKind.MART) if source in newest}
            registry.write(mart, ConsumerState(checkpoints=read, tables={mart: newest[mart]}), START)
    lake.consumer("report", sales=newest["sales"])


def _sources(lake: SeenLake, name: str, kind: TableKind) -> tuple[str, ...]:
    if kind in _OF_LOG:
        return (lake.spec.log,)
    if kind not in (TableKind.MART, TableKind.CACHE):
        return ()
    mart = lake.spec.mart(name)
    return tuple(lake.spec.sources_of(lake.spec.mart(mart.cache) if mart.cache else mart))


def _now() -> str:
    return format_clock(datetime.now(UTC) - timedelta(minutes=2))
