"""Two runs side by side: what changed, sorted by what it costs."""

from __future__ import annotations

from collections.abc import Sequence

from drynpu.views.comparison import StepParts, comparison_blocks
from drynpu.views.content import EMPTY, Block, Chart, Note
from drynpu.views.page import Page
from drynpu.views.runs import View
from drynpu_pages.figures import stacked_bars

_SIDES = ("this", "other")
"""The run that the page shows, and the run that was chosen beside it."""


def _build(view: View) -> Sequence[Block]:
    if view.other is None:
        return [Note("Choose the run to compare with above; if there is none, record another in this folder.", EMPTY)]
    same = view.rank.label if view.rank.label in view.other.labels else ""
    other = view.other.rank(same)

    def bars(parts: StepParts, sentence: str) -> Chart:
        return Chart(
            "compared-steps",
            "Where the time goes",
            lambda: stacked_bars(_SIDES, parts, axis_title="ms", unit="ms", horizontal=True, height_px=200),
            sentence,
            modelled=view.modelled or other.modelled,
            height_px=200,
        )

    return comparison_blocks(view.rank, other, _SIDES, bars)


PAGE = Page(
    "comparison",
    "Comparison",
    "What changed from this run to another, what costs most first.",
    _build,
    with_other=True,
)
