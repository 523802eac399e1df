"""The hints of a rank as blocks: condition, evidence and remedy, what costs most first."""

from __future__ import annotations

from collections.abc import Sequence

from drynpu.analysis.hints import find_all
from drynpu.views.content import EMPTY, Block, Hint, Note
from drynpu.views.runs import Rank


def hint_blocks(rank: Rank) -> Sequence[Block]:
    """Return what is conspicuous in a rank, below a note on what the costs are; or the note that nothing is."""
    hints = [
        Hint(finding.title, finding.evidence, finding.remedy, finding.cost_us, finding.per, finding.page)
        for finding in find_all(rank.profile, rank.summary)
    ]
    if not hints:
        return [Note("No rule found anything conspicuous in this profile.", EMPTY)]
    said = "Costs are the time that is spent so; it is the most that a remedy can win."
    return [Note(said + (" They follow from modelled times." if rank.modelled else "")), *hints]
