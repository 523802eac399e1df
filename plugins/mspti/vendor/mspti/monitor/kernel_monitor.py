"""The facade of ``mspti.monitor.kernel_monitor``."""

from __future__ import annotations

from drynpu_mspti.monitors import KernelMonitor

__all__ = ["KernelMonitor"]
