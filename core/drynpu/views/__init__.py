"""What people look at: for now the summary in the terminal."""

from __future__ import annotations

from drynpu.views._document import summary_document
from drynpu.views._finished import show_finished
from drynpu.views._summary import print_summary, render_summary

__all__ = ["print_summary", "render_summary", "show_finished", "summary_document"]
