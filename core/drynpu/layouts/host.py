"""Facts of the host's own metrics."""

from __future__ import annotations

PAGE_KB = 4
"""Size of a page of /proc/<pid>/statm; the vendor takes 4 KB everywhere (Ascend/msprof host_mem_usage_parser)."""

AVERAGE = "Avg"
"""What stands for the number of the core in the mean of all."""
