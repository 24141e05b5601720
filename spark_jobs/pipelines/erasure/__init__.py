"""One person taken out of a whole lake: the rows that name them, and the steps in their order."""

from __future__ import annotations
