"""A run in a notebook or a script: its tables, figures and hints as values."""

from __future__ import annotations

from drynpu.views.notebook._opened import OpenedRank, OpenedRun, open_run

__all__ = ["OpenedRank", "OpenedRun", "open_run"]
