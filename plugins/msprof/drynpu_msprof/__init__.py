"""``drynpu msprof``: the vendor's command of that name."""

from __future__ import annotations

from drynpu.cli.msprof._command import msprof

__all__ = ["msprof"]
