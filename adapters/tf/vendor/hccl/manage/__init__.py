"""``hccl.manage``."""

from __future__ import annotations
