"""What importing ``ais_bench`` gives."""

from __future__ import annotations

from ais_bench import infer

__all__ = ["infer"]
