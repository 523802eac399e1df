"""The hints of a run and of one of its ranks as blocks: condition, evidence and remedy, what costs most first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from drynpu.analysis.hints import Finding, find_all, rank_findings
from drynpu.options import Clock
from drynpu.views.content import EMPTY, Block, Hint, Note
from drynpu.views.runs import Rank, Run


def run_findings(run: Run) -> Sequence[Finding]:
    """Return what the ranks of a run say together; nothing for one rank."""
    return list(rank_findings([(rank.label, rank.profile, rank.summary) for rank in run.ranks]))


def hint_blocks(run: Run, rank: Rank, together: Sequence[Finding]) -> Sequence[Block]:
    """
    Return what is conspicuous in a run and a rank, below a note on what the costs are; or the note that nothing is.

    Parameters
    ----------
    together:
        What `run_findings` said of all ranks.
    """
    alone = _hints(find_all(rank.profile, rank.summary))
    several = [Note(f"Rank {rank.label} of {len(run.ranks)} ranks by itself:")] if len(run.ranks) > 1 else []
    if not alone and not together:
        nothing = "No rule found anything conspicuous"
        return [*several, Note(f"{nothing} in this profile.", EMPTY)]
    said = "Costs are the time that is spent so; it is the most that a remedy can win."
    if rank.modelled:
        measured = rank.summary.clock == Clock.WALL.value
        said += " Kernel times are modelled, pauses measured." if measured else " They follow from modelled times."
    single = alone or [Note("No rule found anything conspicuous in this rank.", EMPTY)]
    return [Note(said), *_hints(together), *several, *single]


def _hints(findings: Iterable[Finding]) -> list[Block]:
    return [
        Hint(each.title, each.evidence, each.remedy, each.cost_us, each.per, each.page, each.longest)
        for each in findings
    ]
