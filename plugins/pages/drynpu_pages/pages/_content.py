"""What can be said of a page before or after it is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from drynpu.views.content import Block, Facts, flat
from drynpu.views.page import Page
from drynpu.views.runs import View
from drynpu_pages.pages import data
from drynpu_pages.pages.memory import has_memory

_NEEDS: Mapping[str, Callable[[View], bool]] = MappingProxyType(
    {
        "cluster": lambda view: len(view.run.ranks) > 1 or view.rank.profile.communication_ops.height > 0,
        "data": data.has_data,
        "memory": has_memory,
        "critical": lambda view: view.rank.profile.table("tasks").height > 0,
        "whatif": lambda view: view.rank.profile.table("tasks").height > 0,
        "flame": lambda view: view.rank.summary.kernel_count > 0 or view.rank.profile.table("host_ops").height > 0,
        "calculation": lambda view: view.rank.summary.kernel_count > 0,
        "operators": lambda view: view.rank.summary.kernel_count > 0 or view.rank.profile.table("host_ops").height > 0,
    }
)


MODELLED = "The simulation computed the times of the device on this page; no device measured them"


def has_content(page: Page, view: View, *, others: bool) -> bool:
    """
    Return whether a page has anything to show of a rank, without building it; a page of a plugin may have.

    Parameters
    ----------
    others:
        Whether there are runs to compare with.
    """
    if page.with_other:
        return others
    needs = _NEEDS.get(page.name)
    return needs is None or needs(view)


def is_modelled(blocks: Sequence[Block]) -> bool:
    """Return whether the simulation computed any number of a page."""
    facts = [fact for block in flat(blocks) if isinstance(block, Facts) for fact in block.facts]
    return any(getattr(each, "modelled", False) for each in (*facts, *flat(blocks)))
