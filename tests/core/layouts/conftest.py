"""Records as bytes."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from record_bytes import fits, host_head, number, pack, plausible

__all__ = ["fits", "host_head", "number", "pack", "plausible"]
