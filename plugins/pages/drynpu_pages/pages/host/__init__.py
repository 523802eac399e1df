"""The host: processor, memory, disk and network, what Python collects, which threads and calls take the time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drynpu.views.content import Block
from drynpu.views.page import Page
from drynpu.views.runs import View
from drynpu_pages.pages.host._machine import machine
from drynpu_pages.pages.host._process import process
from drynpu_pages.pages.host._threads import calls, collections, threads

__all__ = ["PAGE"]


def _build(view: View) -> Sequence[Block]:
    return list(_blocks(view))


def _blocks(view: View) -> Iterator[Block]:
    yield from process(view)
    yield from threads(view)
    yield from collections(view)
    yield from calls(view)
    yield from machine(view)


PAGE = Page(
    "host",
    "Host",
    "What the process and its machine do: processor, memory, disk, network, threads and calls.",
    _build,
)
