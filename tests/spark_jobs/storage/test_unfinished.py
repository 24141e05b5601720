"""Who waits while a restore, a repair or an erasure is unfinished, and that there is always one that can end."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest

from spark_jobs.contracts.clocks import RowsKeptError
from spark_jobs.contracts.errors import ErasureUnfinishedError, RestoreUnfinishedError
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.erasures import Erasures, Pending
from spark_jobs.storage.kept_rows import AHEAD_FOLDER, drop_kept
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.restores import PendingRestore, Restores
from spark_jobs.storage.unfinished import check_erasure, check_intake, check_nothing_unfinished, may_repair
from tests.support.made_tables import MadeTable


def test_both_have_to_end_and_the_restore_first(tmp_path: Path):
    settings = Settings(base_path=str(tmp_path))
    table = MadeTable(TableLayout(name="units", record_key="id", form=StorageForm.KEYED), tmp_path / "units")
    check_nothing_unfinished(settings, ["units"])
    Erasures(settings).begin(Pending(role="agent", id="17", names=()))
    with pytest.raises(ErasureUnfinishedError):
        check_nothing_unfinished(settings, ["units"])
    table.pending(1, "restore")
    with pytest.raises(RestoreUnfinishedError, match="units"):
        check_nothing_unfinished(settings, ["units"])
    with pytest.raises(ErasureUnfinishedError):
        check_nothing_unfinished(settings, ["agents"])
    Restores(settings).begin(PendingRestore(savepoint="day", begun="2026-01-01T00:00:00Z"))
    with pytest.raises(RestoreUnfinishedError, match=r"the lake: .* restore --to day --yes"):
        check_nothing_unfinished(settings, ["agents"])


LOG, ORDER = "log", ("restore", "repair", "erasure")


def cut_off(settings: Settings, what: str) -> None:
    """Leave one of them unfinished."""
    if what == "restore":
        Restores(settings).begin(PendingRestore(savepoint="day", begun="2026-01-01T00:00:00Z"))
    elif what == "repair":
        Path(settings.base_path, AHEAD_FOLDER, LOG, "3").mkdir(parents=True)
    else:
        Erasures(settings).begin(Pending(role="agent", id="17", names=()))


def passes(check: Callable[[], object]) -> bool:
    try:
        check()
    except (ErasureUnfinishedError, RestoreUnfinishedError, RowsKeptError):
        return False
    return True


def may_end(settings: Settings) -> dict[str, bool]:
    """Whether the command that ends each of them would go on now."""
    return {
        "restore": True,  # it goes on whatever else is unfinished: tests/laws/test_ways_out.py
        "repair": may_repair(settings, LOG),
        "erasure": passes(lambda: check_erasure(settings, [LOG])),
    }


def end(settings: Settings, what: str) -> None:
    if what == "restore":
        drop_kept([LOG], settings)
        Restores(settings).finish()
    elif what == "repair":
        drop_kept([LOG], settings)
    else:
        Erasures(settings).finish("agent", "2026-01-01T00:00:00Z", [])


@pytest.mark.parametrize("order", [order for n in (1, 2, 3) for order in permutations(ORDER, n)])
def test_whatever_is_unfinished_one_can_end_until_nothing_is(tmp_path: Path, order: tuple[str, ...]):
    """No circle: of those that are unfinished exactly one may end next, in whichever order they were cut off."""
    settings, left, ended = Settings(base_path=str(tmp_path)), {*order}, list[str]()
    for what in order:
        cut_off(settings, what)
    while left:
        assert not passes(lambda: check_nothing_unfinished(settings, [LOG])), "all others wait"
        assert passes(lambda: check_intake(settings)) is (left == {"restore"})
        (what,) = [each for each, may in may_end(settings).items() if may and each in left]
        end(settings, what)
        ended.append(what)
        left -= {what, *({"repair"} if what == "restore" else ())}
    assert ended == sorted(ended, key=ORDER.index)
    check_nothing_unfinished(settings, [LOG])
    assert may_end(settings) == {"restore": True, "repair": True, "erasure": True}
