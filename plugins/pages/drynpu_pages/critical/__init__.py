"""The critical path of a step: what its end waited for, and what led to that, back to the end of the step before."""

from __future__ import annotations

from drynpu_pages.critical._bounds import BOUNDS, GROUPS, bounds, host_shares
from drynpu_pages.critical._parts import PATH, critical_path

__all__ = ["BOUNDS", "GROUPS", "PATH", "bounds", "critical_path", "host_shares"]
