"""What ``quarantine list`` and ``show`` print: what came from outside is escaped, bytes only on request."""

from __future__ import annotations

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from spark_jobs.contracts.names import spell
from spark_jobs.contracts.quarantine import State, parse_history
from spark_jobs.contracts.text_table import format_table
from spark_jobs.transforms.quarantine import ABOUT, STATE, count_kinds, with_about

_KINDS = ("reason", "about", "state", "records", "first", "last")
_RECORDS = ("record", "reason", "about", "state", "ingested")
_ATTEMPTS = ("at", "by", "action", "because", "outcome")
_FEW = 20
_SHORT = 12
"""Of a hash: with a million records two share their first twelve digits once in five hundred lakes."""
_MINUTE = "yyyy-MM-dd'T'HH:mm"


def print_kinds(rows_df: DataFrame) -> int:
    """Print the kinds of records with their numbers, and each record when they are few; gives how many there are."""
    counted_df = count_kinds(rows_df)
    kinds = counted_df.select(*_KINDS[:4], *(F.date_format(name, _MINUTE).alias(name) for name in _KINDS[4:])).collect()
    total = sum(int(kind["records"]) for kind in kinds)
    if not total:
        print("no record is of that kind")
        return 0
    print(format_table(_KINDS, [_cells(kind, _KINDS) for kind in kinds]))
    if total <= _FEW:
        few_df = with_about(rows_df).select(
            F.substring("record_hash", 1, _SHORT).alias("record"),
            "reason",
            ABOUT,
            F.coalesce(STATE, F.lit(State.OPEN.value)).alias(STATE),
            F.date_format("ingest_time", _MINUTE).alias("ingested"),
        )
        print()
        print(format_table(_RECORDS, [_cells(row, _RECORDS) for row in few_df.orderBy("reason", "record").collect()]))
    return total


def print_record(row: Row, *, has_raw: bool) -> None:
    """Print one row of the quarantine, its history, and its bytes on request."""
    raw = bytes(row["raw"] or b"")
    facts = {
        "record": row["record_hash"],
        "reason": row["reason"],
        "detail": spell(row["detail"] or ""),
        "state": row[STATE] or State.OPEN.value,
        "became": spell(row["became"] or "-"),
        "read from": f"{spell(row['read_from'] or '')} at byte {row['read_offset']:,}",
        "ingested": f"{row['ingest_time']:%Y-%m-%dT%H:%M:%S}Z",
        "bytes": f"{len(raw):,}",
    }
    for name, value in facts.items():
        print(f"  {name:<10}{value}")
    history = parse_history(row["history"])
    if history:
        print()
        print(format_table(_ATTEMPTS, [tuple(spell(getattr(each, name)) for name in _ATTEMPTS) for each in history]))
    if has_raw:
        print()
        print(spell(raw.decode("utf-8", "backslashreplace")))


def _cells(row: Row, names: tuple[str, ...]) -> tuple[object, ...]:
    return tuple(spell(value) if isinstance(value := row[name], str) else value for name in names)
