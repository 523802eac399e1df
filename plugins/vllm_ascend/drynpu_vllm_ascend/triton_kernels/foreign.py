"""Objects of Triton's, which have no types here."""

from __future__ import annotations

from typing import Any, TypeAlias

Foreign: TypeAlias = Any
"""A block, a builder, a module of Triton's, or an argument of a kernel."""
