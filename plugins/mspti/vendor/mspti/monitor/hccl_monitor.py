"""The facade of ``mspti.monitor.hccl_monitor``."""

from __future__ import annotations

from drynpu_mspti.monitors import HcclMonitor

__all__ = ["HcclMonitor"]
