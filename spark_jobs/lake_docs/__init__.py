"""The docs of a lake: a static site of its tables, columns, owners, expectations and lineage; no Spark."""
