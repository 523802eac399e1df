"""What each framework calls the neutral operators, and where it keeps their arguments."""

from __future__ import annotations

import importlib
from typing import Final

from drynpu.kernels._named import Named

__all__ = ["FRAMEWORKS", "rows_of"]

FRAMEWORKS: Final = ("torch", "tf", "mindspore", "onnx")
"""Each has a module here; a process reads the names of its own framework alone."""


def rows_of(framework: str) -> tuple[Named, ...]:
    """Return what a framework calls the operators; none for another framework."""
    if framework not in FRAMEWORKS:
        return ()
    rows: tuple[Named, ...] = importlib.import_module(f"{__name__}.{framework}").ROWS
    return rows
