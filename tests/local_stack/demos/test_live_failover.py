"""The failover that `live` makes: what ingest says is what is run, and each difference is shown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from local_stack.demos import live_failover
from local_stack.demos.live_failover import differences, open_epoch
from local_stack.demos.live_source import COMPARED
from local_stack.errors import SetupError
from spark_jobs.lake_spec.epochs import Fall, PositionsFellError, describe_fall

FALL = Fall(
    stream="postgresql/erp of it's/serving_1",
    events=50,
    low="00000000019ca260",
    high="00000000019ca999",
    since=1_795_974_000_123,
    until=1_795_974_000_123,
    mark="00000000054dd2a0",
    time=1_795_973_000_000,
)
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
SOURCES = NOON.replace(tzinfo=None)


def test_the_command_of_the_message_is_run_as_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []
    message = str(PositionsFellError(falls={FALL.stream: describe_fall(FALL)}))

    def run(words: list[str], environ: object) -> None:
        ran.append(words)
        if len(ran) == 2:
            raise SetupError(f"ingest failed: {message}")

    monkeypatch.setattr(live_failover, "run_job", run)
    reported: list[str] = []
    open_epoch({}, reported.append)
    assert ran[:2] == [["ingest"], ["ingest"]], "until it stops"
    since = "2026-11-29T17:40:00.123Z"
    stream = ["source", "new-epoch", "--stream", FALL.stream, "--since", since, "--yes"]
    assert ran[2] == [*stream, "--because", "restored from a dump"]
    assert message in reported[0]


def test_another_failure_is_no_fall(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(words: list[str], environ: object) -> None:
        raise SetupError("ingest failed: Kafka does not answer")

    monkeypatch.setattr(live_failover, "run_job", run)
    with pytest.raises(SetupError, match="Kafka does not answer"):
        open_epoch({}, print)


class Table:
    """What is at the source."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self._rows = rows

    def rows(self) -> dict[int, dict[str, Any]]:
        return {row["sale_id"]: {name: row[name] for name in COMPARED} for row in self._rows}


def row(sale: int, status: int = 1, *, is_deleted: bool = False) -> dict[str, Any]:
    return {**dict.fromkeys(COMPARED, 0), "sale_id": sale, "status_id": status, "is_deleted": is_deleted, "more": 1}


def signed(moment: datetime | None) -> dict[str, Any]:
    return row(1) | {"contract_signing_date": moment}


@pytest.mark.parametrize(
    ("there", "here", "sales"),
    [
        ([row(1), row(2)], [row(1), row(2), row(3, is_deleted=True)], []),
        ([signed(SOURCES)], [signed(NOON)], []),
        ([signed(SOURCES)], [signed(None)], [1]),
        ([row(1), row(2)], [row(1), row(2, status=4)], [2]),
        ([row(1), row(2)], [row(1, is_deleted=True), row(2)], [1]),
        ([row(1)], [row(1), row(7)], [7]),
    ],
)
def test_each_difference_is_shown(there: list[dict[str, Any]], here: list[dict[str, Any]], sales: list[int]) -> None:
    table: Any = Table(*there)
    found = differences(table, {each["sale_id"]: each for each in here})
    assert [line.split(":")[0] for line in found] == [f"sale {sale}" for sale in sales]
