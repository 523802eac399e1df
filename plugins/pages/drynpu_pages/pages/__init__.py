"""The pages that dashboard, report and notebook show: what stands on them, not how it is shown."""

from __future__ import annotations

from drynpu_pages.pages._content import MODELLED, has_content, is_modelled
from drynpu_pages.pages._windows import RANK
from drynpu_pages.pages.registry import PAGES, all_pages, find_page

__all__ = ["MODELLED", "PAGES", "RANK", "all_pages", "find_page", "has_content", "is_modelled"]
