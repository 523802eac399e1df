"""Two runs side by side: what changed, sorted by what it costs."""

from __future__ import annotations

from collections.abc import Sequence

from drynpu.views.comparison import SIDES, StepParts, comparison_blocks
from drynpu.views.content import EMPTY, Block, Chart, Note
from drynpu.views.page import Page
from drynpu.views.runs import View
from drynpu_pages.figures import stacked_bars


def _build(view: View) -> Sequence[Block]:
    if view.other is None:
        return [
            Note(
                "Choose the baseline above: the run to compare with. If there is none, record another in this folder.",
                EMPTY,
            )
        ]
    same = view.rank.label if view.rank.label in view.other.labels else ""
    other = view.other.rank(same)

    def bars(parts: StepParts, sentence: str) -> Chart:
        return Chart(
            "compared-steps",
            "Where the time goes",
            lambda: stacked_bars(SIDES, parts, axis_title="ms", unit="ms", horizontal=True, height_px=200),
            sentence,
            modelled=view.modelled or other.modelled,
            height_px=200,
        )

    return comparison_blocks(other, view.rank, steps=bars, force=False)


PAGE = Page(
    "comparison",
    "Comparison",
    "What changed from a baseline to this run, what costs most first.",
    _build,
    with_other=True,
)
