"""
What people look at: the summary of a run, and blocks of facts and tables in the terminal.

The plugin ``pages`` shows the same blocks in a browser, a file and a notebook.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu._lazy import lazy_room

if TYPE_CHECKING:
    from drynpu.views._console import plain_console
    from drynpu.views._document import summary_document
    from drynpu.views._finished import say_notes, show_finished
    from drynpu.views._summary import print_summary, render_summary
else:
    __getattr__ = lazy_room(__name__)

__all__ = ["plain_console", "print_summary", "render_summary", "say_notes", "show_finished", "summary_document"]
