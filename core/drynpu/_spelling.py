"""The nearest valid spelling of a word, for messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, valid: Iterable[str]) -> str:
    """Return ``" Did you mean 'x'?"`` for the valid word nearest to *word*, or ``""`` if none is near."""
    by_folded = {name.casefold(): name for name in valid}
    near = get_close_matches(word.casefold(), by_folded, n=1, cutoff=0.6)
    return f" Did you mean {by_folded[near[0]]!r}?" if near else ""
