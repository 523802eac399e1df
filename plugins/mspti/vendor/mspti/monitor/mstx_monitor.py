"""The facade of ``mspti.monitor.mstx_monitor``."""

from __future__ import annotations

from drynpu_mspti.monitors import MstxMonitor

__all__ = ["MstxMonitor"]
