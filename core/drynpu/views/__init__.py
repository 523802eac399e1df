"""What people look at: pages of a run in a browser, a file, a notebook and the terminal, and its summary."""

from __future__ import annotations

from drynpu.views._document import summary_document
from drynpu.views._finished import show_finished
from drynpu.views._markdown import markdown_summary
from drynpu.views._summary import print_summary, render_summary

__all__ = ["markdown_summary", "print_summary", "render_summary", "show_finished", "summary_document"]
