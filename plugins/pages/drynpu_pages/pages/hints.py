"""What to do about it: hints with condition, evidence and remedy, what costs most first."""

from __future__ import annotations

from drynpu.views.hints import hint_blocks
from drynpu.views.page import Page

PAGE = Page(
    "hints",
    "Hints",
    "What is conspicuous, the numbers that show it, and what to do about it.",
    lambda view: hint_blocks(view.rank),
)
