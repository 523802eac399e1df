"""Data preparation: whether the training waits for its data, and which part of the preparation is slow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drynpu.tables import Profile
from drynpu.views.content import EMPTY, Block, Note
from drynpu.views.page import Page
from drynpu.views.runs import View
from drynpu_pages.pages._recording import how_to_record
from drynpu_pages.pages.data._loader import loader
from drynpu_pages.pages.data._pipeline import pipeline
from drynpu_pages.pages.data._processors import processors
from drynpu_pages.pages.data._queues import queues

__all__ = ["PAGE", "has_data"]

_LOADER = (
    "No wait for a DataLoader of PyTorch was recorded: the script iterates none in what was recorded, or the host was "
    "not recorded (ProfilerActivity.CPU)."
)
_MINDSPORE = (
    "The data pipeline of MindSpore was not recorded. It is recorded with data_process of mindspore.profiler, started "
    "before the dataset is iterated and without a schedule."
)


def _build(view: View) -> Sequence[Block]:
    blocks = list(_blocks(view))
    return blocks or [_absent(view.rank.profile)]


def has_data(view: View) -> bool:
    """Return whether anything of the preparation of data was recorded."""
    return next(_blocks(view), None) is not None


def _blocks(view: View) -> Iterator[Block]:
    yield from loader(view)
    yield from queues(view)
    yield from pipeline(view)
    yield from processors(view)


def _absent(profile: Profile) -> Note:
    if profile.product == "mindspore":
        return Note(_MINDSPORE, EMPTY)
    if profile.framework_path is not None or profile.source == "results":
        return Note(_LOADER, EMPTY)
    missing = "No wait of the device for its data was recorded; a model without a data queue has none."
    return how_to_record(profile, missing, "switches.aicpu")


PAGE = Page(
    "data",
    "Data preparation",
    "Whether the training waits for its data, and which part of the preparation is slow.",
    _build,
)
