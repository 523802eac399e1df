"""What to do about it: hints with condition, evidence and remedy, what costs most first."""

from __future__ import annotations

from collections.abc import Sequence

from drynpu.analysis.hints import find_all
from drynpu.views.content import EMPTY, Block, Hint, Note
from drynpu.views.pages._page import Page
from drynpu.views.runs import View


def hint_blocks(view: View) -> list[Hint]:
    """Return the hints of a rank as blocks."""
    return [
        Hint(found.title, found.evidence, found.remedy, found.cost_us, found.per, found.page)
        for found in find_all(view.rank.profile, view.rank.summary)
    ]


def _build(view: View) -> Sequence[Block]:
    hints = hint_blocks(view)
    if not hints:
        return [Note("No rule found anything conspicuous in this profile.", EMPTY)]
    said = "Costs are the time that is spent so; it is the most that a remedy can win."
    return [Note(said + (" They follow from modelled times." if view.modelled else "")), *hints]


PAGE = Page("hints", "Hints", "What is conspicuous, the numbers that show it, and what to do about it.", _build)
