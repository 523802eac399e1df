"""Kernel rules for MindSpore's primitives."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from drynpu.plugins import KernelRule

__all__ = ["RULES"]

RULES: Mapping[str, KernelRule] = MappingProxyType({})
"""By primitive, as the capture names it."""
