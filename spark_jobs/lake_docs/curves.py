"""What is drawn of a graph in the same way wherever one is shown: lines between boxes, and labels that fit."""

from __future__ import annotations


def curve(start: tuple[int, int], end: tuple[int, int], *, width: int, bend: int) -> str:
    """The path from the right side of a box to the left side of another one, by the places on these sides.

    To a box that is no further right it goes around the right side of both.

    Args:
        start: on the right side of the first box.
        end: on the left side of the other one.
        width: of a box.
        bend: how far the line goes straight on at both ends.
    """
    (x1, y1), (x2, y2) = start, end
    if x2 <= x1:
        return f"M{x1} {y1} C{x1 + bend} {y1} {x2 + width + bend} {y2} {x2 + width} {y2}"
    return f"M{x1} {y1} C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"


def cut(text: str, most: int) -> str:
    """So much of a text as fits into a box."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
