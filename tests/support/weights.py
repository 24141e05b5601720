"""Weights of a lake in round numbers, by which loads are computed."""

from __future__ import annotations

from spark_jobs.sizing.weights import TableWeight, Weights

SALES = TableWeight(new_rows=0.25, row_bytes=100, log_row_bytes=400)
WEIGHTS = Weights(
    landing=1000,
    landing_gzip=100,
    log=80,
    index=40,
    feed=3,
    ingest_run=3,
    ingest_event=2e-4,
    split_run=10,
    split_event=1e-4,
    compaction_byte=1e-7,
    clustering_byte=5e-7,
    tables={"sales": SALES},
)
