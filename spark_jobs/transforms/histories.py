"""What events say of rows, as rows of a history: one for each event and row that it is about.

A row depends on its event alone, so whatever came before, comes later or comes twice, the history is the same.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.lake_spec.table_spec import IS_DELETED, ROW_ORDER
from spark_jobs.lake_spec.versions import HISTORY_ABSENT, HISTORY_KEY, HISTORY_TIME, named_absent
from spark_jobs.transforms.folding import EVENT_ORDER, EVENT_TIME
from spark_jobs.transforms.keyed_rows import DELETED_ORDER, KEY, TABLE, MergedTable
from spark_jobs.transforms.row_partitions import key_texts
from spark_jobs.transforms.texts import from_text


def to_history(versions_df: DataFrame, table: MergedTable) -> DataFrame:
    """The rows of one table's history among what :func:`spark_jobs.transforms.folding.event_versions` gives.

    Those are ``history__key`` (the order with the key), the key, the values of the event and null for others,
    ``row_order``, ``is_deleted`` (whether the event deleted the row), its time, and the columns that it did not set.
    """
    slots = {column: F.col(name) for column, name in zip(table.columns, table.slots, strict=True)}
    is_deleted = F.col(DELETED_ORDER).isNotNull()
    keys = key_texts(table)
    texts = {column: keys.get(column.source, each["value"]) for column, each in slots.items()}
    values = {column.name: from_text(text, column.type) for column, text in texts.items()}
    if not table.spec.has_row_order:
        values = {table.spec.key_column: from_text(F.col(KEY), table.key_type), **values}
    not_set = [
        F.when(each.isNull() & ~is_deleted, named_absent(column.name))
        for column, each in slots.items()
        if column.source not in keys
    ]
    columns = {
        HISTORY_KEY: F.concat_ws("|", EVENT_ORDER, KEY),
        **values,
        ROW_ORDER: F.col(EVENT_ORDER),
        IS_DELETED: is_deleted,
        HISTORY_TIME: F.col(EVENT_TIME),
        HISTORY_ABSENT: F.concat_ws("", *not_set) if not_set else F.lit(""),
    }
    own_df = versions_df.where(F.col(TABLE) == table.name)
    return own_df.select(*(value.alias(name) for name, value in columns.items()))
