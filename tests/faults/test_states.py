"""What the campaign compares: a state is what a later run finds, and not what differs from one try to the next."""

from __future__ import annotations

import json
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.faults.states import state_of

pytestmark = pytest.mark.faults


def lake_of(folder: Path, *, first: int, file_id: str, served: int = 1, **changed: str | None) -> Path:
    """A table with two commits, a consumer and a database; ``changed`` has other contents of some files, or none."""
    one, two = f"{first:017}", f"{first + 5:017}"
    files: dict[str, str | None] = {
        f"t/.hoodie/{one}.commit": json.dumps({"path": f"{file_id}_0-{first}-7_{one}.parquet", "totalScanTime": first}),
        f"t/.hoodie/{two}.commit": json.dumps({"path": f"{file_id}_0-{first}-8_{two}.parquet"}),
        f"t/{file_id}_0-{first}-7_{one}.parquet": "rows " * 300,
        f"t/{file_id}_0-{first}-8_{two}.parquet": "rows " * 300,
        ".consumers/split.json": json.dumps({"checkpoints": {"t": two}}),
        ".leases/t.lease": file_id,
    }
    for name, content in changed.items():
        files[name.format(one=one, two=two)] = content and content.format(one=one, two=two)
    for name, content in files.items():
        if content is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
    with closing(sqlite3.connect(folder / "serving.db")) as database:
        database.execute(f"CREATE TABLE served (n INT DEFAULT {served})")
    return folder


@pytest.mark.parametrize(
    "changed",
    [
        {".consumers/split.json": '{{"checkpoints": {{"t": "{one}"}}}}'},
        {".consumers/split.json": '{{"checkpoints": '},
        {".consumers/split.json": ""},
        {".consumers/split.json": None},
        {"t/.hoodie/.temp/{two}/marker": ""},
        {"t/.hoodie/{two}.commit": None},
        {"t/torn_{two}.log": "rows"},
        {"served": 2},
    ],
    ids=str,
)
def test_a_state_is_what_a_later_run_finds(tmp_path: Path, changed: dict[str, Any]):
    ids = [str(uuid.UUID(int=number)) for number in (1, 2)]
    state = state_of(lake_of(tmp_path / "one", first=1000, file_id=ids[0]))
    assert state_of(lake_of(tmp_path / "two", first=2000, file_id=ids[1])) == state
    assert state_of(lake_of(tmp_path / "three", first=2000, file_id=ids[1], **changed)) != state
