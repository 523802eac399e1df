"""The parts of a step that add up to it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

STEP_PARTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "computing": ("Computing", "computing_us"),
        "communication": ("Communication (not overlapped)", "communication_not_overlapped_us"),
        "free": ("Free", "free_us"),
    }
)
"""Colour of the part -> its name on pages, and its column in the step trace."""
