"""The targets of MindSpore."""

from __future__ import annotations

# Values of ``device_target`` (mindspore_profiler.md 3); the script's is the first, what computes here the second.
ASCEND = "Ascend"
CPU = "CPU"
