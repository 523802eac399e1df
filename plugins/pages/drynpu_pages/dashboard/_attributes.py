"""Attributes of elements whose names are no names of Python."""

from __future__ import annotations

from typing import Any


def attributes(**values: str) -> Any:
    """Return attributes with ``-`` for each ``_``, for a constructor of Dash: ``aria-label``, ``data-choice``."""
    return {name.replace("_", "-"): value for name, value in values.items()}
