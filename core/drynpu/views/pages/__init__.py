"""The pages that dashboard, report and notebook show: what stands on them, not how it is shown."""

from __future__ import annotations

from drynpu.views.pages._page import Page
from drynpu.views.pages.registry import PAGES, find_page

__all__ = ["PAGES", "Page", "find_page"]
