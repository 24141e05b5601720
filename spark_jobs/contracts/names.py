"""Names and other words that come from outside: how a message shows them, on one line and without being fooled."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches

MOST_SHOWN = 60
_MOST_ESCAPED = 80
_MOST_WORDS = 8
_LONGEST_PATH = 200


def column_names(schema: str) -> tuple[str, ...]:
    """The names in a DDL of columns, which has ", " between two of them and nowhere else."""
    return tuple(column.split()[0] for column in schema.split(", "))


def show(value: object) -> str:
    """The value quoted, in ASCII and shortened: a look-alike, an invisible character or a line end can be seen."""
    text = value if isinstance(value, str) else ascii(value)
    part = text[:MOST_SHOWN]
    while len(ascii(part)) > _MOST_ESCAPED:
        part = part[:-1]
    quoted = ascii(part) if isinstance(value, str) else part
    return quoted if part == text else f"{quoted}… ({len(text)} characters)"


def show_all(values: Iterable[object]) -> str:
    """Some values as a list, each as :func:`show` has it; the first few of many."""
    shown = [show(value) for value in values]
    more = [f"and {len(shown) - _MOST_WORDS} more"] if len(shown) > _MOST_WORDS else []
    return f"[{', '.join([*shown[:_MOST_WORDS], *more])}]"


def nearest(name: object, known: Iterable[str]) -> str:
    """The known name that this one was probably meant to be; "" when none is like it."""
    return next(iter(get_close_matches(str(name)[:MOST_SHOWN], list(known), n=1)), "")


def one_of(name: object, known: Collection[str]) -> str:
    """What to do about a name of which there is none: write the nearest there is, or one of all."""
    near = nearest(name, known)
    return f"write {show(near)}" if near else f"give one of {show_all(known)}"


def plain(value: object) -> str:
    """A word as it is, when it is short and nothing in it can be taken for something else; else :func:`show`."""
    text = str(value)
    return text if text.isprintable() and text.isascii() and len(text) <= MOST_SHOWN else show(text)


def shell_word(text: str) -> str:
    """A word of a command line that people copy into a shell: in single quotes, whatever is in it."""
    return "'" + spell(text).replace("'", r"'\''") + "'"


def show_path(path: object) -> str:
    """A path as it is, when a message can hold it; else as :func:`show` has it."""
    text = str(path)
    return text if text.isprintable() and len(text) <= _LONGEST_PATH else show(text)


def spell(text: str) -> str:
    """The text on one line: what cannot be printed, line ends and marks that turn text around among it, is escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
