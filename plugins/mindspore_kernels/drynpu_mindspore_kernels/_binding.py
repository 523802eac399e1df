"""The releases of MindSpore whose inside this package knows."""

from __future__ import annotations

from typing import Final

RELEASES: Final = ("2.7.1", "2.7.2")
