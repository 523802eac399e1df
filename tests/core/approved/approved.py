"""Approved results: where they are, how they are compared, how they are written anew."""

from __future__ import annotations

import difflib
import lzma
from collections.abc import Iterable, Sequence
from pathlib import Path

HERE = Path(__file__).parent
RECORDED = HERE / "recorded"
TEXTS = HERE / "texts"
_SHOWN = 60
"""Lines of a difference that are shown."""


def text_file(subject: str, part: str) -> Path:
    """Return the file with the approved lines of a part of a subject."""
    return TEXTS / f"{subject}.{part}.txt.xz"


def read_approved(subject: str, part: str) -> list[str]:
    """Return approved lines; none where nothing was approved."""
    path = text_file(subject, part)
    return lzma.decompress(path.read_bytes()).decode().split("\n") if path.exists() else []


def approve(subject: str, part: str, lines: Iterable[str]) -> list[str]:
    """Write approved lines if they differ from those that there are; return the difference."""
    found = one_line_each(lines)
    changed = difference(read_approved(subject, part), found)
    if changed:
        TEXTS.mkdir(exist_ok=True)
        text_file(subject, part).write_bytes(lzma.compress("\n".join(found).encode(), preset=9))
    return changed


def one_line_each(lines: Iterable[str]) -> list[str]:
    """Return the lines of which some may hold several."""
    return "\n".join(lines).split("\n")


def difference(approved: Sequence[str], found: Sequence[str]) -> list[str]:
    """Return a difference of lines, the first of it where it is long; none if both are equal."""
    if approved == found:
        return []
    pairs = zip(approved, found, strict=False)
    shorter = min(len(approved), len(found))
    first = next((number for number, (one, other) in enumerate(pairs) if one != other), shorter)
    # Comparing whole files of a hundred thousand lines would take minutes; what was moved further shows as a change.
    before, after = (list(each[max(first - 3, 0) : first + _SHOWN]) for each in (approved, found))
    lines = difflib.unified_diff(before, after, "approved", "found", n=3, lineterm="")
    heading = next((line for line in reversed(approved[: first + 1]) if line.startswith("#")), "")
    return [f"from line {first + 1}, in {heading[:200]}", *(line[:400] for line in list(lines)[:_SHOWN])]
