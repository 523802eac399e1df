"""The report: the pages of a run in one file that opens without a server and without a network."""

from __future__ import annotations

from drynpu_pages.report._figure_file import find_figure, write_figure
from drynpu_pages.report._html import blocks_html
from drynpu_pages.report._picture import find_browser, write_picture
from drynpu_pages.report._report import framed_html, write_report

__all__ = ["blocks_html", "find_browser", "find_figure", "framed_html", "write_figure", "write_picture", "write_report"]
