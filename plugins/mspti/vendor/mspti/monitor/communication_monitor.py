"""The facade of ``mspti.monitor.communication_monitor``."""

from __future__ import annotations

from drynpu_mspti.monitors import CommunicationMonitor

__all__ = ["CommunicationMonitor"]
