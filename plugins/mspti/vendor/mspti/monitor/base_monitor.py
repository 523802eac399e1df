"""The facade of ``mspti.monitor.base_monitor``."""

from __future__ import annotations

from drynpu_mspti.monitors import BaseMonitor

__all__ = ["BaseMonitor"]
