"""Git in folders that tests make."""

from __future__ import annotations

IDENTITY = ("-c", "user.name=tests", "-c", "user.email=tests@example.org")
"""Words after ``git`` with which it commits on a machine without an identity for commits."""
