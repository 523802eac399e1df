"""What people look at: pages of a run in a browser, a file, a notebook and the terminal, and its summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu._lazy import lazy_room

if TYPE_CHECKING:
    from drynpu.views._document import summary_document
    from drynpu.views._finished import show_finished
    from drynpu.views._markdown import markdown_summary
    from drynpu.views._summary import print_summary, render_summary
else:
    __getattr__ = lazy_room(__name__)

__all__ = ["markdown_summary", "print_summary", "render_summary", "show_finished", "summary_document"]
