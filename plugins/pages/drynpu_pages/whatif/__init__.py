"""A run simulated again with something changed: its work, its host and what waited for what, as its files have them."""

from __future__ import annotations

from drynpu_pages.whatif._change import AS_RECORDED, Change, changed_chip
from drynpu_pages.whatif._outcome import AGAIN, GROUP_TIMES, Outcome, Recorded, simulate_again
from drynpu_pages.whatif._specs import KERNEL_KEY
from drynpu_pages.whatif._times import Coverage
from drynpu_pages.whatif._words import (
    GROUP_NAMES,
    NO_BATCH,
    NO_CALLS,
    basis_text,
    bound_by,
    cut_text,
    memory_text,
    outcome_text,
)

__all__ = [
    "AGAIN",
    "AS_RECORDED",
    "GROUP_NAMES",
    "GROUP_TIMES",
    "KERNEL_KEY",
    "NO_BATCH",
    "NO_CALLS",
    "Change",
    "Coverage",
    "Outcome",
    "Recorded",
    "basis_text",
    "bound_by",
    "changed_chip",
    "cut_text",
    "memory_text",
    "outcome_text",
    "simulate_again",
]
