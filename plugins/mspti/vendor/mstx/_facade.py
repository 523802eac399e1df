"""The body of the facade; it runs only where no genuine mstx is found."""

from __future__ import annotations

from drynpu_mspti.marks import get_tool_id, mark, range_end, range_start

__all__ = ["get_tool_id", "mark", "range_end", "range_start"]
