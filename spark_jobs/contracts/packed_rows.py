"""The columns of packed rows, which transforms make and storage keeps without looking into them."""

from __future__ import annotations

KEY_HASH, PACKED = "key_hash", "packed"
