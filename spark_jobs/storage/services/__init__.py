"""Table services: rescale, compaction, clustering, clean and archive, each when a table needs it (docs/services.md)."""
