"""Table services: compaction, clustering, clean and archive, run when a table needs them (docs/services.md)."""
