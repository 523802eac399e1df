"""What to do about it: hints with condition, evidence and remedy, what costs most first."""

from __future__ import annotations

from collections.abc import Sequence

from drynpu.views.content import Block
from drynpu.views.hints import hint_blocks, run_findings
from drynpu.views.page import Page
from drynpu.views.runs import View


def _build(view: View) -> Sequence[Block]:
    # One look at all ranks, kept by the first.
    together = view.run.ranks[0].keep("rank-findings", lambda: run_findings(view.run))
    return hint_blocks(view.run, view.rank, together)


PAGE = Page(
    "hints",
    "Hints",
    "What is conspicuous, the numbers that show it, and what to do about it.",
    _build,
)
