"""``hccl.split``."""

from __future__ import annotations
