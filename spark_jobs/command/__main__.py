"""``python -m spark_jobs.command``: the same as ``lakehouse``."""

from __future__ import annotations

from spark_jobs.command.app import main

main()
