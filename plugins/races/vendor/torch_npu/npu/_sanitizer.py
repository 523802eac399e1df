"""``torch_npu.npu._sanitizer``: the vendor's names of the search for races between streams."""

from __future__ import annotations

from drynpu_races._sanitizer import CheckKind as SanitizerMode
from drynpu_races._sanitizer import Sanitizer as NPUSanitizer
from drynpu_races._sanitizer import sanitizer as npu_sanitizer

__all__ = ["NPUSanitizer", "SanitizerMode", "enable_npu_sanitizer", "npu_sanitizer"]


def enable_npu_sanitizer() -> None:
    """Look for races from now on, in this thread."""
    npu_sanitizer.enable()
