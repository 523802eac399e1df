"""``scoped_graph_manager``."""

from __future__ import annotations

__all__: list[str] = []
