"""HTML and SVG whose text is escaped, unless it is markup already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


class Markup(str):
    """Text that is markup."""

    __slots__ = ()


def element(name: str, *children: object, **attributes: object) -> Markup:
    """An element: text in it and values of its attributes are escaped. ``class_`` is ``class``, ``a_b`` is ``a-b``."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None and value != ""
    )
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def joined(parts: Iterable[object], between: str = "") -> Markup:
    """Parts one after another."""
    return Markup(between.join(part if isinstance(part, Markup) else escape(str(part)) for part in parts))


def table_of(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Markup:
    """A table; nothing without rows."""
    body = [element("tr", *(element("td", cell) for cell in row)) for row in rows]
    if not body:
        return Markup()
    head = element("thead", element("tr", *(element("th", text, scope="col") for text in header)))
    return element("div", element("table", head, element("tbody", *body)), class_="scroll", tabindex="0")


def facts_list(facts: Iterable[tuple[str, object]]) -> Markup:
    """Names and values, without those that are empty."""
    return element("dl", *(joined((element("dt", name), element("dd", value))) for name, value in facts if value))
