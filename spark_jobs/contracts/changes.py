"""The columns of a change feed, which transforms make and storage keeps without looking into them."""

from __future__ import annotations

BEFORE, AFTER = "before", "after"
"""Structs of a row as its readers saw it before and after a commit; null where there was or is none."""
