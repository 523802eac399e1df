"""Host metrics: CPU, memory, disk and network."""

from __future__ import annotations
