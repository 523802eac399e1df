"""Timelines as Perfetto reads them: events of ranks as a protobuf trace."""

from __future__ import annotations

from drynpu_pages.perfetto._export import export_perfetto
from drynpu_pages.perfetto._trace import perfetto_trace
from drynpu_pages.perfetto._window import Window, busy_shares, window_of

__all__ = ["Window", "busy_shares", "export_perfetto", "perfetto_trace", "window_of"]
