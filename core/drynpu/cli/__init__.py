"""The command line: one module per verb; a verb parses arguments and leaves the work to the rooms above."""

from __future__ import annotations

from drynpu.cli._main import build_cli, main

__all__ = ["build_cli", "main"]
