"""``npu_cpu_ops``: embedding tables and host caches, of which there are none here."""

from __future__ import annotations

__all__: list[str] = []
