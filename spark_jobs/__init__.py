"""The library: jobs that turn a log of change events into lakehouse tables. Only stdlib and PySpark at import."""
