"""Who waits while a restore or an erasure is unfinished."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contracts.errors import ErasureUnfinishedError, RestoreUnfinishedError
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.erasures import Erasures, Pending
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.restores import PendingRestore, Restores
from spark_jobs.storage.unfinished import check_nothing_unfinished
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
