"""The read model of a lake: what a page, a command and metrics show, by the functions that jobs use; no Spark."""
