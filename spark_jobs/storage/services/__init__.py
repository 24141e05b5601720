"""Table services: rescale, compaction, clustering, clean and archive, when a table needs them (docs/services.md)."""
