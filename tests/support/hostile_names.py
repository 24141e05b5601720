"""Names that an attacker may try: none is an identifier, each breaks something that trusts it."""

from __future__ import annotations

HOSTILE: dict[str, str] = {
    "single quote": "sales'",
    "double quote": 'sales"',
    "back quote": "sales`",
    "statement": "x'; DROP TABLE sales; --",
    "semicolon": "sales;units",
    "comment": "sales--",
    "line end": "sales\n",
    "line end and more": "sales\nINFO all is well",
    "carriage return": "sales\r",
    "tab": "sa\tles",
    "nul": "sales\0",
    "parent": "..",
    "path up": "../../etc/passwd",
    "slash": "sales/units",
    "absolute": "/etc/passwd",
    "backslash": "sales\\units",
    "leading dot": ".hoodie",
    "leading dash": "-rf",
    "option": "--yes",
    "percent": "%2e%2e",
    "percent slash": "..%2fsales",
    "format": "%s%n{0}",
    "cyrillic": "s\u0430les",
    "greek": "unit\u03bf",
    "full width": "\uff53ales",
    "arabic digits": "sales\u0661",
    "right to left": "sales\u202egro.evil",
    "combining": "sale\u0301s",
    "zero width": "sal\u200bes",
    "half a pair": "sales\ud800",
    "long": "a" * 300,
    "long and hostile": "';" * 150,
    "jinja": "{{ conn.lakehouse_serving.password }}",
    "shell variable": "${HOME}",
    "shell": "$(touch x)",
    "upper case": "Sales",
    "space": "sales units",
    "blank": " ",
}
"""By what is wrong with it. The empty name is apart: in many places it means "none"."""

MOST_CHARACTERS = 255
"""Of a file's name, in bytes."""


def fits_file_name(name: str) -> bool:
    """True for a name that a file can have, and that ingest does not take for an unfinished file's."""
    legal = "/" not in name and "\0" not in name and name not in (".", "..")
    return legal and not name.startswith((".", "_")) and len(name.encode("utf-8", "replace")) <= MOST_CHARACTERS


def is_clear(line: str, *, most: int) -> bool:
    """True for a message on one line, in characters that show what they are, no longer than ``most``."""
    foreign = {c for c in line if not c.isascii()} - {"\u2026"}
    return line.isprintable() and not foreign and 0 < len(line) <= most
