"""Device memory: how much over time, what is alive at a moment, and why the peak is as high as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drynpu.views.content import WARNING, Block, Note
from drynpu.views.page import Page
from drynpu.views.runs import View
from drynpu_pages.pages._recording import how_to_record
from drynpu_pages.pages.memory._breakdown import breakdown
from drynpu_pages.pages.memory._components import components, graph_plans
from drynpu_pages.pages.memory._curve import curve, facts
from drynpu_pages.pages.memory._lives import lives
from drynpu_pages.pages.memory._selected import all_records, controls, select

__all__ = ["PAGE", "has_memory"]


def _build(view: View) -> Sequence[Block]:
    return list(_blocks(view))


def has_memory(view: View) -> bool:
    """Return whether anything of the device's memory was recorded."""
    return all_records(view.rank).height > 0 or next(components(view), None) is not None


def _blocks(view: View) -> Iterator[Block]:
    selected = select(view)
    if selected is None:
        yield how_to_record(view.rank.profile, "The profile holds no memory of operators.", "switches.profile_memory")
    else:
        yield facts(selected, view)
        if selected.lost:
            yield Note("The chosen position is not in what is shown; the peak is shown.", WARNING)
        yield curve(selected, view)
        yield from lives(selected, view)
        yield from breakdown(selected, view)
    yield from components(view)
    yield from graph_plans(view)


PAGE = Page(
    "memory",
    "Memory",
    "How much device memory is in use over time, and what it is in use for.",
    _build,
    controls,
    with_step=True,
)
